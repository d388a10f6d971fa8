# hlokit. `make help` lists what there is to ask for.
BUILD ?= build
CXX ?= g++
CXX := $(if $(filter default,$(origin CXX)),g++,$(CXX))
CCACHE := $(shell command -v ccache 2>/dev/null)
LLVM_CONFIG ?= llvm-config-19
OPT ?= -O2
CXXFLAGS ?=
CPPFLAGS += -Isrc -I.
FLAGS = -std=c++23 -march=x86-64-v3 $(OPT) -g1 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -ffunction-sections -fdata-sections $(CXXFLAGS)

SOURCES := $(shell find src -name '*.cpp')
OBJECTS := $(SOURCES:%.cpp=$(BUILD)/%.o)

all: $(OBJECTS)

$(BUILD)/%.o: %.cpp
	@mkdir -p $(@D)
	$(CCACHE) $(CXX) $(CPPFLAGS) $(FLAGS) -MMD -MP -c $< -o $@

-include $(OBJECTS:.o=.d)
.PHONY: all
