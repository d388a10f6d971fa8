# hlokit. `make help` lists what there is to ask for; README.md says what it is.
BUILD ?= build
CXX := $(if $(filter default,$(origin CXX)),g++,$(CXX))
LLVM_CONFIG ?= llvm-config-19
OPT ?= -O2
CORPUS ?= ../shared
T ?=
VERSION := 0.1.0

CCACHE := $(shell command -v ccache 2>/dev/null)
LLD := $(shell command -v ld.lld-19 >/dev/null 2>&1 && echo -fuse-ld=lld-19 -B/usr/lib/llvm-19/bin)
LLVM_INCLUDE = $(shell $(LLVM_CONFIG) --includedir 2>/dev/null)
# By file, not by component: "nvptx" is not expanded for static linking. --as-needed and gc keep the rest out.
LLVM_LIBS = $(shell $(LLVM_CONFIG) --link-static --ldflags --libs NVPTXCodeGen NVPTXDesc NVPTXInfo X86CodeGen X86Desc X86Info OrcJIT Passes IRReader Linker BitReader Coroutines 2>/dev/null)

CPPFLAGS += -Isrc -I. -DHLO_VERSION='"$(VERSION)"'
# No fused multiply-add but where the source writes one: the interpreter's results are those of the definition.
FLAGS = -std=c++23 -march=x86-64-v3 -ffp-contract=off $(OPT) -g1 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers \
        -ffunction-sections -fdata-sections $(CXXFLAGS)
LDFLAGS_ALL = $(LLD) -Wl,--gc-sections -Wl,--as-needed $(if $(LLD),-Wl$(comma)--icf=safe) -static-libstdc++ -static-libgcc $(LDFLAGS)
comma := ,
LIBS = $(LLVM_LIBS) -l:libz.a -l:libzstd.a -lpthread -ldl -lm

SOURCES := $(shell find src -name '*.cpp' | LC_ALL=C sort)
TOOL_SOURCES := $(shell find tools -name '*.cpp' | LC_ALL=C sort)
TEST_SOURCES := $(shell find tests -name '*.cpp' | LC_ALL=C sort)
OBJECTS := $(SOURCES:%.cpp=$(BUILD)/%.o)
TOOL_OBJECTS := $(TOOL_SOURCES:%.cpp=$(BUILD)/%.o)
TEST_OBJECTS := $(TEST_SOURCES:%.cpp=$(BUILD)/%.o)
LINKS := hlo-run hlo-opt

all: $(BUILD)/bin/hlo  ## Build the program, build/bin/hlo, and its links
.DEFAULT_GOAL := all

help:  ## List the targets
	@sed -nE 's/^([a-z_.-]+):.*## (.*)/  \1\t\2/p' Makefile | expand -t 26

# ---- Building ------------------------------------------------------------------------------------------------------

$(BUILD)/src/gpu/%.o: CPPFLAGS += -isystem $(LLVM_INCLUDE)
# Inner loops over elements: the vectoriser is what they are written for.
$(BUILD)/src/interp/%.o: OPT := $(if $(filter -O2,$(OPT)),-O3,$(OPT))

$(BUILD)/%.o: %.cpp Makefile
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) $(CPPFLAGS) $(FLAGS) -MMD -MP -c $< -o $@

$(BUILD)/bin/hlo: $(OBJECTS) $(TOOL_OBJECTS)
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) $^ $(LDFLAGS_ALL) $(LIBS) -o $@
	@cd $(@D) && for link in $(LINKS); do ln -sf hlo $$link; done

$(BUILD)/bin/hlo-test: $(OBJECTS) $(TEST_OBJECTS)
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) $^ $(LDFLAGS_ALL) -lgtest $(LIBS) -o $@

-include $(OBJECTS:.o=.d) $(TOOL_OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d)

# ---- Testing -------------------------------------------------------------------------------------------------------

test: all $(BUILD)/bin/hlo-test  ## Run the tests; T=pattern picks some
	CORPUS=$(CORPUS) HLO=$(BUILD)/bin $(BUILD)/bin/hlo-test --gtest_brief=1 $(if $(T),--gtest_filter='*$(T)*')

golden: all $(BUILD)/bin/hlo-test  ## Rewrite the expectations in testdata/; read the diff before committing
	HLO=$(BUILD)/bin HLO_UPDATE_GOLDEN=1 $(BUILD)/bin/hlo-test --gtest_brief=1 --gtest_filter='Golden/*$(T)*'

clean:  ## Remove what was built
	rm -rf $(BUILD)

.PHONY: all help test golden clean
