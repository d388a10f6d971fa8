# The build of hlokit. `make help` lists the targets; README.md describes the program.
BUILD ?= build
CXX := $(if $(filter default,$(origin CXX)),g++,$(CXX))
LLVM_CONFIG ?= llvm-config-19
OPT ?= -O2
CORPUS ?= ../shared
T ?=
VERSION := 0.1.0

CCACHE := $(shell command -v ccache 2>/dev/null)
# Paths are relative to the folder of this file, so that clones share cached objects.
export CCACHE_NOHASHDIR := 1
LLD := $(shell command -v ld.lld-19 >/dev/null 2>&1 && echo -fuse-ld=lld -B/usr/lib/llvm-19/bin -Wl,-T,scripts/llvm_late.ld)
LLVM_INCLUDE = $(shell $(LLVM_CONFIG) --includedir 2>/dev/null)
# Single libraries instead of components, because "nvptx" is not expanded for static linking. --as-needed and gc-sections
# remove unused code.
LLVM_LIBS = $(shell $(LLVM_CONFIG) --link-static --ldflags --libs NVPTXCodeGen NVPTXDesc NVPTXInfo X86CodeGen X86Desc X86Info OrcJIT Passes IRReader Linker BitReader Coroutines 2>/dev/null)

CPPFLAGS += -Isrc -I. -I$(BUILD)/gen -DHLO_VERSION='"$(VERSION)"'
# -ffp-contract=off: only an explicit fma is fused, so that the interpreter's results follow the definition.
MARCH = -march=x86-64-v3
# The heap limit of g++'s garbage collector: less collecting saves a tenth of the time for 0.2 GB a process.
COLLECTOR = $(if $(filter g++%,$(notdir $(CXX))),--param ggc-min-heapsize=1000000)
FLAGS = -std=c++23 $(MARCH) -ffp-contract=off $(OPT) -g1 $(COLLECTOR) -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers \
        -ffunction-sections -fdata-sections $(CXXFLAGS)
# -no-pie avoids relocations at start-up, which would write to all tables of LLVM.
LDFLAGS_ALL = $(LLD) -no-pie -Wl,--gc-sections -Wl,--as-needed -static-libstdc++ -static-libgcc $(LDFLAGS)
LIBS = $(LLVM_LIBS) -l:libre2.a -l:libz.a -l:libzstd.a -lpthread -ldl -lm

SOURCES := $(shell find src -name '*.cpp' | LC_ALL=C sort)
TOOL_SOURCES := $(shell find tools -name '*.cpp' | LC_ALL=C sort)
TEST_SOURCES := $(shell find tests -name '*.cpp' -not -path 'tests/fuzz/*' -not -path 'tests/doubles/*' -not -path 'tests/mutants/*' | LC_ALL=C sort)
DOUBLE_SOURCES := $(sort $(wildcard tests/doubles/*.cpp))
FUZZ_TARGETS := $(sort $(wildcard tests/fuzz/*.cpp))
OBJECTS := $(SOURCES:%.cpp=$(BUILD)/%.o)
TOOL_OBJECTS := $(TOOL_SOURCES:%.cpp=$(BUILD)/%.o)
TEST_OBJECTS := $(TEST_SOURCES:%.cpp=$(BUILD)/%.o)
DOUBLE_OBJECTS := $(DOUBLE_SOURCES:%.cpp=$(BUILD)/%.o)
DOUBLES := $(addprefix $(BUILD)/doubles/,libcuda.so.1 libcublasLt.so.13 libcudnn.so.9 libcupti.so.13)
LINKS := run_hlo_module hlo-run hlo-opt hlo-inspect hlo-debug hlo-fmt hlo-check hlo-lsp hlo-diff hlo-bisect hlo-reduce hlo-fuzz hlo-ops hlo-doctor

all: $(BUILD)/bin/hlo  ## Build the program, build/bin/hlo, and its links
.DEFAULT_GOAL := all

help:  ## List the targets
	@sed -nE 's/^([a-z_.-]+):.*## (.*)/  \1\t\2/p' Makefile | expand -t 26

# One line for each step; V=1 shows the commands. A first build also counts the objects that exist.
Q := $(if $(V),,@)
ifeq ($(wildcard $(BUILD)/bin/$(if $(filter run-tests,$(MAKECMDGOALS)),hlo-test,hlo)),)
EXPECTED_OBJECTS := $(words $(OBJECTS) $(TOOL_OBJECTS) $(if $(filter run-tests,$(MAKECMDGOALS)),$(TEST_OBJECTS) $(DOUBLE_OBJECTS)))
say = $(if $(V),,@printf '[%3d/%d] %-5s %s\n' $$(find $(BUILD) -name '*.o' | wc -l) $(EXPECTED_OBJECTS) $(1) $@)
else
say = $(if $(V),,@printf '%-5s %s\n' $(1) $@)
endif

# ---- Building ------------------------------------------------------------------------------------------------------

$(BUILD)/src/gpu/%.o: private CPPFLAGS += -isystem $(LLVM_INCLUDE)
# g++ 12 misunderstands the placement of LLVM's globals.
$(BUILD)/src/gpu/%.o: private CXXFLAGS += -Wno-mismatched-new-delete
# False warnings of g++ 12 in its std::string and in its AVX-512 header.
$(BUILD)/src/driver/%.o: private CXXFLAGS += -Wno-restrict
$(addprefix $(BUILD)/,src/gpu/libraries/attention.o src/gpu/runtime/tuning/lock.o src/parser/read_layout.o tests/scripts_test.o): \
  private CXXFLAGS += -Wno-array-bounds -Wno-stringop-overread -Wno-stringop-overflow
$(BUILD)/src/gpu/libraries/small_product.o: private CXXFLAGS += -Wno-maybe-uninitialized
# This code also runs on older processors, to print that they are too old.
$(BUILD)/src/base/processor_check.o: private MARCH := -march=x86-64
# These objects embed files: the texts of pipelines, the pages of the manual.
$(BUILD)/src/passes/pipelines/presets.o: $(wildcard src/passes/pipelines/*.txt)
$(BUILD)/src/driver/manual/pages.o: README.md CONTRIBUTING.md $(wildcard docs/*.md docs/guides/*.md)
# FAIL is ours (base/result.h); gtest's is GTEST_FAIL.
$(BUILD)/tests/%.o $(BUILD)/pch/tests/%: private CPPFLAGS += -DGTEST_DONT_DEFINE_FAIL=1
# The inner loops over elements are written for the vectoriser. Setting errno or exception flags in mathematical functions
# would prevent it. The interpreter never reads them, and results are the same without them.
LOOPS := $(addprefix $(BUILD)/,src/interp/%.o src/judge/bounds/%.o src/judge/compare/%.o)
$(LOOPS) $(BUILD)/pch/loops/%: private OPT := $(if $(filter -O2,$(OPT)),-O3,$(OPT)) -fno-math-errno -fno-trapping-math
# Commands, pages and tests spend little time in their own code. -O1 compiles a quarter faster.
COLD_OBJECTS := $(filter $(BUILD)/src/driver/% $(BUILD)/tools/% $(BUILD)/tests/%,$(OBJECTS) $(TOOL_OBJECTS) $(TEST_OBJECTS))
$(COLD_OBJECTS) $(BUILD)/pch/cold/% $(BUILD)/pch/tests/%: private OPT := $(if $(filter -O2,$(OPT)),-O1,$(OPT))

# The part of ops.def that every user of opcodes depends on. Editing other parts of a row does not compile them again.
OPCODES := $(BUILD)/gen/ir/opcodes.inc
$(OPCODES): src/ir/ops.def
	@mkdir -p $(@D)
	@awk -F'[(,]' '/^HLO_OP/ { name = $$2; getline; print "HLO_OPCODE(" name ", " (/kElementwise/ ? "true" : "false") ")" } \
	  END { print "#undef HLO_OPCODE" }' $< >$@.new
	@cmp -s $@.new $@ || cp $@.new $@

# The headers that most sources include, compiled once for each set of flags (src/precompiled.h). g++ only. An object whose
# flags differ from its header's gets a warning (-Winvalid-pch). ccache reads the .sum in place of the 150 MB beside it.
ifneq ($(filter g++%,$(notdir $(CXX))),)
export CCACHE_SLOPPINESS := pch_defines,time_macros
export CCACHE_PCH_EXTSUM := 1
PCH_OBJECTS := $(filter-out $(BUILD)/src/base/processor_check.o,$(OBJECTS)) $(TOOL_OBJECTS) $(TEST_OBJECTS)
pch_of = $(BUILD)/pch/$(if $(filter $(LOOPS),$1),loops,$(if $(filter $(BUILD)/tests/%,$1),tests,$(if $(filter $(COLD_OBJECTS),$1),cold,src)))/precompiled.h
$(PCH_OBJECTS): private PCH = -Winvalid-pch -fpch-preprocess -include $(call pch_of,$@)
$(foreach kind,src loops cold tests,$(eval $(foreach object,$(PCH_OBJECTS),$(if $(findstring /pch/$(kind)/,$(call pch_of,$(object))),$(object))): $(BUILD)/pch/$(kind)/precompiled.h.gch))
$(BUILD)/pch/%/precompiled.h.gch: PCH_SOURCE = $(if $(filter tests,$*),tests,src)/precompiled.h
$(BUILD)/pch/tests/precompiled.h.gch: tests/precompiled.h
$(BUILD)/pch/%/precompiled.h.gch: Makefile src/precompiled.h | $(OPCODES)
	@mkdir -p $(@D)
	$(call say,PCH)
	$(Q)$(CXX) $(CPPFLAGS) $(FLAGS) -x c++-header -MMD -MP -MF $(@:.gch=.d) $(PCH_SOURCE) -o $@
	@$(CXX) $(CPPFLAGS) $(FLAGS) -x c++-header -E -P $(PCH_SOURCE) | cksum >$@.sum
-include $(wildcard $(BUILD)/pch/*/*.d)
endif

$(BUILD)/%.o: %.cpp Makefile | $(OPCODES)
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CCACHE) $(CXX) $(CPPFLAGS) $(FLAGS) $(PCH) -MMD -MP -c $< -o $@

$(BUILD)/bin/hlo $(BUILD)/bin/hlo-test: scripts/llvm_late.ld
$(BUILD)/bin/hlo: $(OBJECTS) $(TOOL_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CXX) $(FLAGS) $(filter %.o,$^) $(LDFLAGS_ALL) $(LIBS) -o $@
	@cd $(@D) && for link in $(LINKS); do ln -sf hlo $$link; done

$(BUILD)/bin/hlo-test: $(OBJECTS) $(TEST_OBJECTS) $(BUILD)/tests/doubles/cudnn_double.o
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CXX) $(FLAGS) $(filter %.o,$^) $(LDFLAGS_ALL) -lgtest $(LIBS) -o $@

# Two tests of hlo-test as a program of their own. They only read sources, so the program builds without the rest.
$(BUILD)/bin/layering-test: $(BUILD)/tests/layering_test.o $(BUILD)/tests/names_test.o
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CXX) $(FLAGS) $^ $(LDFLAGS) -lgtest_main -lgtest -lpthread -o $@

MUTANTS_OBJECTS := $(patsubst %.cpp,$(BUILD)/%.o,$(wildcard tests/mutants/*.cpp))
$(BUILD)/bin/mutants: $(OBJECTS) $(MUTANTS_OBJECTS) scripts/llvm_late.ld
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CXX) $(FLAGS) $(filter %.o,$^) $(LDFLAGS_ALL) $(LIBS) -o $@

# CUDA's libraries for tests (docs/architecture.md#doubles). The others find the driver's beside them.
$(BUILD)/tests/doubles/%.o: FLAGS += -fPIC
# Its numbers are held against CUDA's headers, where there are some.
$(BUILD)/tests/gpu/doubles_rules_test.o: private CPPFLAGS += -idirafter /usr/local/cuda/include
$(BUILD)/doubles/libcuda.so.1: $(addprefix $(BUILD)/tests/doubles/,double.o cuda.o cuda_graphs.o cuda_streams.o)
$(BUILD)/doubles/libcublasLt.so.13: $(BUILD)/tests/doubles/cublaslt.o $(BUILD)/doubles/libcuda.so.1
$(BUILD)/doubles/libcudnn.so.9: $(addprefix $(BUILD)/tests/doubles/,cudnn.o cudnn_double.o) $(BUILD)/doubles/libcuda.so.1
$(BUILD)/doubles/libcupti.so.13: $(BUILD)/tests/doubles/cupti.o $(BUILD)/doubles/libcuda.so.1
$(DOUBLES):
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CXX) $(FLAGS) -shared -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' $^ $(LDFLAGS) -o $@
$(BUILD)/bin/hlo-test: | $(DOUBLES)

# Without LLVM; and what fails a check must end in a way that libFuzzer sees (tests/fuzz/target.h).
FUZZ_SOURCES := $(filter-out src/base/check.cpp,$(filter src/base/% src/ir/% src/parser/% src/driver/lsp/%,$(SOURCES))) \
                src/driver/format.cpp src/driver/inspect/text.cpp src/driver/load.cpp \
                $(filter tests/properties/%,$(TEST_SOURCES))
FUZZ_OBJECTS := $(FUZZ_SOURCES:%.cpp=$(BUILD)/%.o)
$(BUILD)/bin/fuzz-%: $(BUILD)/tests/fuzz/%.o $(FUZZ_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CXX) $(FLAGS) $^ $(LDFLAGS) -o $@

.SECONDARY: $(FUZZ_TARGETS:%.cpp=$(BUILD)/%.o)

-include $(MUTANTS_OBJECTS:.o=.d) $(FUZZ_TARGETS:%.cpp=$(BUILD)/%.d) $(DOUBLE_OBJECTS:.o=.d) $(OBJECTS:.o=.d) $(TOOL_OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d)

# ---- Setting up ----------------------------------------------------------------------------------------------------

deps:  ## Install missing packages (Debian 12; asks for root only if some are missing)
	@scripts/deps

# Git runs the hooks of one folder only, so a folder that is already set is kept.
hooks:  ## Let git check each commit message by scripts/hooks/commit-msg
	@old=$$(git config core.hooksPath || echo scripts/hooks); [ "$$old" = scripts/hooks ] || \
	  { echo "core.hooksPath is $$old; to use the hooks of this repository, type: git config core.hooksPath scripts/hooks" >&2; exit 1; }
	@git config core.hooksPath scripts/hooks
	@echo "core.hooksPath is now scripts/hooks: git checks each commit message (at most 72 characters, no semicolon)"

# A second make is needed because this file looks for the packages that `deps` installs. It uses all cores unless -j is set.
JOBS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
demo: deps  ## Set up, build, and run ResNet-50 from text to verdict
	@$(MAKE) --no-print-directory $(JOBS) all
	$(BUILD)/bin/hlo-run testdata/models/resnet50_infer.hlo

# If demo and test are both given, test runs after demo, because both build the same files.
test: deps | $(filter demo,$(MAKECMDGOALS))  ## Set up, build, and run the tests; T=pattern picks some
	@$(MAKE) --no-print-directory $(JOBS) run-tests

# HOST_ISA=avx2|avx512|native limits the instructions of kernels in all programs that make runs. The default is native.
ifdef HOST_ISA
export HLO_HOST_ISA := $(HOST_ISA)
endif

# ---- Testing -------------------------------------------------------------------------------------------------------

run-tests: all $(BUILD)/bin/hlo-test
	@CORPUS=$(CORPUS) HLO=$(BUILD)/bin LOGS=$(BUILD)/test-logs scripts/run-tests $(BUILD)/bin/hlo-test --gtest_brief=1 $(if $(T),--gtest_filter='*$(T)*')

golden: all $(BUILD)/bin/hlo-test  ## Rewrite the expectations in testdata/; read the diff before committing
	HLO=$(BUILD)/bin HLO_UPDATE_GOLDEN=1 $(BUILD)/bin/hlo-test --gtest_brief=1 --gtest_filter='Golden/*$(T)*'

N ?= 200
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
DIFF_ISAS = $(or $(HOST_ISA),$(if $(shell grep -w avx512vl /proc/cpuinfo),avx2) native)
diff: SEED := $(SEED)
diff: all  ## Judge N=200 random modules from SEED=(random) by every oracle, at each level of instructions, and with random passes
	$(foreach isa,$(DIFF_ISAS),$(BUILD)/bin/hlo-fuzz --host_isa=$(isa) --count=$(N) --seed=$(SEED) &&) :
	$(BUILD)/bin/hlo-fuzz --passes=random --count=$(N) --seed=$(SEED)

golden-check: $(BUILD)/bin/hlo-test  ## Compare the interpreter (PLATFORM=cpu: passes and kernels) with XLA:CPU's results in $(CORPUS)/golden and $(CORPUS)/corpus
	@mkdir -p $(BUILD)/golden
	@for archive in golden/corpus corpus/programs corpus/xla-hlo-large; do tar -xJf $(CORPUS)/$$archive.tar.xz -C $(BUILD)/golden; done
	CORPUS=$(CORPUS) HLO_UNPACKED=$(BUILD)/golden $(BUILD)/bin/hlo-test --gtest_brief=1 \
	  --gtest_filter='XlaCpu/*.AgreesWithXlaCpu$(if $(filter cpu,$(PLATFORM)),OnTheDevice)/*'

devices: all  ## Partition the programs of $(CORPUS)/devices, compare their results on 8 devices, and the collectives with XLA's
	@mkdir -p $(BUILD)/devices
	@tar -xJf $(CORPUS)/devices/programs.tar.xz -C $(BUILD)/devices
	@python3 bench/devices.py $(BUILD)/devices

test-exhaustive: $(BUILD)/bin/hlo-test  ## Test every op of the interpreter on every value of the narrow float types
	$(BUILD)/bin/hlo-test --gtest_brief=1 --gtest_filter='*Exhaustive*'

test-inject: $(BUILD)/bin/hlo-test  ## Check that every planted fault is found and blamed on the right pass, kernel or library
	$(BUILD)/bin/hlo-test --gtest_brief=1 --gtest_filter='*Inject*'

# Floors of the two rates, in percent. They only rise. Two programs are left out because they take a minute each.
MUTANTS_FLOORS := --least_passes=70.0 --least_own=63.0 --least_kernels=99.0
mutants: $(BUILD)/bin/mutants  ## Measure which planted faults the judge finds, on random modules and small models (2 minutes); MUTANTS='--passes=N --kernels=N --seed=S --sets=N --list'
	@mkdir -p $(BUILD)/mutants && { tar -xJf $(CORPUS)/corpus/programs.tar.xz -C $(BUILD)/mutants 2>/dev/null || \
	  echo "$(CORPUS)/corpus/programs.tar.xz is absent: its programs are left out"; }
	$(BUILD)/bin/mutants $(MUTANTS_FLOORS) $(MUTANTS) $$(find testdata/models/small $(BUILD)/mutants -name '*.hlo' -size -64k | grep -v -e flash_attention_vjp -e stencil_lbm_sor | LC_ALL=C sort)

kernel-check: $(BUILD)/bin/hlo-test  ## Check every kernel of every model and workload: host against emulated GPU, sanitizer, ptxas (minutes)
	HLO_KERNEL_CHECK=all CORPUS=$(CORPUS) $(BUILD)/bin/hlo-test --gtest_brief=1 --gtest_filter='ModelKernels.*'

asan:  ## Run the tests under AddressSanitizer and UndefinedBehaviorSanitizer, in build-asan/
	@# LeakSanitizer crashes on the threads of the OpenMP that oneDNN brings.
	@# Frames are larger there: a test of nested loops overruns 8 MB of stack.
	@ulimit -s 1000000 && ASAN_OPTIONS=detect_leaks=0 $(MAKE) --no-print-directory $(JOBS) run-tests BUILD=build-asan OPT='-O1' \
	  CXXFLAGS='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' LDFLAGS='-fsanitize=address,undefined'

# T seconds for each target of TARGETS=...
TARGETS ?= $(FUZZ_TARGETS:tests/fuzz/%.cpp=%)
FUZZ_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
fuzz:  ## Fuzz parser, verifier and printer with sanitizers, in build-fuzz/; T=60 seconds for each of TARGETS=...
	@scripts/deps fuzz
	@$(MAKE) --no-print-directory $(JOBS) BUILD=build-fuzz CXX=clang++-19 OPT='-O1' \
	  CXXFLAGS='-fsanitize=fuzzer-no-link $(FUZZ_FLAGS)' LDFLAGS='-fsanitize=fuzzer $(FUZZ_FLAGS)' $(TARGETS:%=build-fuzz/bin/fuzz-%)
	@scripts/fuzz '$(or $(T),60)' '$(CORPUS)' $(TARGETS)

verifier-coverage:  ## List the rules of the verifier: the source of each, a file that breaks it, rules without either
	@scripts/verifier-coverage

# Engines that are compiled for a graph need the driver's library. CUDA provides a stub of it.
CUDA_STUB = $(firstword $(wildcard /usr/local/cuda/lib64/stubs/libcuda.so /usr/local/cuda/targets/x86_64-linux/lib/stubs/libcuda.so))
cudnn-plans: $(BUILD)/bin/hlo-test  ## List the plans of cuDNN (CUDNN_PATH=DIR) for testdata/convolutions and attentions; needs no GPU
	@mkdir -p $(BUILD)/stubs && $(if $(CUDA_STUB),ln -sf $(CUDA_STUB) $(BUILD)/stubs/libcuda.so.1,:)
	CUDNN_PLANS=1 LD_LIBRARY_PATH=$(BUILD)/stubs:$$LD_LIBRARY_PATH $(BUILD)/bin/hlo-test --gtest_brief=1 --gtest_filter='CudnnPlans.*'

cuda-doubles: all $(BUILD)/bin/hlo-test  ## Run models and workloads on doubles of CUDA's libraries, with every call failing once; needs no GPU (minutes)
	HLO_DOUBLES=all CORPUS=$(CORPUS) HLO=$(BUILD)/bin $(BUILD)/bin/hlo-test --gtest_brief=1 --gtest_filter='*Doubles*'

gpu-check: all  ## Run everything that needs a GPU; prints SKIPPED if there is none
	@HLO=$(BUILD)/bin OUT=$(BUILD)/gpu-check CORPUS=$(CORPUS) scripts/gpu-check

bench: all  ## Compare with XLA:CPU (in a venv of its own) and with hand-written kernels; prints tables of ratios
	scripts/bench

bench-interp: all  ## Compare the interpreter with XLA:CPU, by family of ops and by model; MODELS=DIR has more models
	[ -x $(PEER_PYTHON) ] || bench/models/regenerate.sh muladd_reduce
	@$(PEER_PYTHON) bench/interpreter.py $(MODELS:%=--models %)

# bench/parse.py takes the ten largest of these that both sides accept.
TEXTS = $(shell find testdata/models $(CORPUS)/corpus -name '*.hlo')
bench-parse: all  ## Compare the parser with XLA's on the largest of TEXTS=..., and time a module of 100 MB
	[ -x build/venv/bin/python ] || bench/models/regenerate.sh muladd_reduce
	@build/venv/bin/python bench/parse.py --largest 10 $(TEXTS)

bench-scale: all  ## Measure each stage and pass at 10k, 30k and 100k instructions on five shapes of modules, and the exponent
	@python3 bench/scale.py

bench-fusion: all  ## Compare kernels and bytes after the passes with XLA:GPU, for each single-device row of $(CORPUS)/bench/xla-gpu-kernels.csv
	@mkdir -p $(BUILD)/corpus
	@for archive in models xla-hlo-large; do tar -xJf $(CORPUS)/corpus/$$archive.tar.xz -C $(BUILD)/corpus; done
	@python3 bench/fusion.py $(CORPUS) $(BUILD)/corpus/models $(BUILD)/corpus/xla-hlo $(CORPUS)/corpus/xla-hlo

seeds: all  ## Repeat the studies behind the project, with tables and figures: build/seeds/index.html (minutes); ONLY=fusion,counts picks parts
	@python3 bench/seeds.py $(ONLY:%=--only=%)

bench-cpu: all  ## Compare the workloads of $(CORPUS)/bench/cpu with XLA:CPU, by turns, on two cores; RUN_FLAGS=... for hlo-run
	[ -x build/venv/bin/python ] || bench/models/regenerate.sh muladd_reduce
	@python3 bench/compare.py --rounds 3 --budget 1 $(if $(RUN_FLAGS),--flags='$(RUN_FLAGS)') $(CORPUS)/bench/cpu/*.hlo

PEER_PYTHON ?= build/venv/bin/python
bench-compile: all  ## Compare compile times with XLA:GPU (PEER_PYTHON=... with jax-cuda13-plugin) and XLA:CPU, also with a full --cache_dir; MODELS=... picks some
	@python3 bench/compile.py --peer $(CORPUS)/tools/xla_gpu_peer.py --peer_python $(PEER_PYTHON) $(MODELS)

corpus: all  ## Compare reading and printing with XLA on every text of $(CORPUS)/corpus and 1000 mutants; PEER_PYTHON=... with jaxlib 0.12
	[ -x $(PEER_PYTHON) ] || bench/models/regenerate.sh muladd_reduce
	@mkdir -p $(BUILD)/corpus
	@for archive in $(CORPUS)/corpus/*.tar.xz; do tar -xJf $$archive -C $(BUILD)/corpus; done
	@$(PEER_PYTHON) bench/corpus.py $(CORPUS)/corpus/xla-hlo $(BUILD)/corpus

pass-pairs: all  ## Judge N=100 pairs of a pass and a text of $(CORPUS)/corpus/xla-hlo, from SEED=(random)
	bench/pass_pairs.py --binary=$(BUILD)/bin/hlo-opt --count=$(if $(filter command line,$(origin N)),$(N),100) --seed=$(SEED) $(CORPUS)/corpus/xla-hlo

models:  ## Lower the programs of bench/models again (needs Python; makes a venv)
	bench/models/regenerate.sh

# BASE=COMMIT: prose is checked on the lines added since then; scripts/prose-index says which commit is the default.
lint: format-check prose-check  ## Check format and prose of changed lines, then run clang-tidy on sources changed since its last success
	@scripts/deps lint
	@$(MAKE) --no-print-directory -k tidy

tidy: $(OBJECTS:.o=.tidied) $(TOOL_OBJECTS:.o=.tidied) $(TEST_OBJECTS:.o=.tidied) $(DOUBLE_OBJECTS:.o=.tidied) $(FUZZ_TARGETS:%.cpp=$(BUILD)/%.tidied)

# Behind the object, which is made again when a header changes.
$(BUILD)/%.tidied: %.cpp $(BUILD)/%.o .clang-tidy | compile_commands.json
	$(call say,TIDY)
	$(Q)clang-tidy-19 --quiet -p . $< 2>/dev/null
	@touch $@

format-check:  ## Fail if clang-format would change a source
	@scripts/deps checks
	clang-format-19 --dry-run -Werror $$(git ls-files '*.cpp' '*.h')

checks: format-check prose-check $(BUILD)/bin/layering-test  ## Run the checks that need no build of the program: format, prose of changed lines, includes, names
	$(BUILD)/bin/layering-test --gtest_brief=1

prose-check:  ## Fail if more than 3 % of the sentences on lines added since BASE=COMMIT are elliptical
	@scripts/deps checks
	scripts/prose-index --changed$(BASE:%==%)

prose:  ## Print the share of elliptical sentences in comments and documentation, by folder
	@scripts/prose-index

layers:  ## Print the folders, their lines and the includes between them, and draw them in build/layers.svg
	@mkdir -p $(BUILD)
	@scripts/layers --svg=$(BUILD)/layers.svg

objects-equal:  ## Fail if sources changed in more than comments and spacing since BASE=COMMIT
	@scripts/objects-equal $(or $(BASE),HEAD)

format:  ## Format the sources with clang-format
	@scripts/deps checks
	clang-format-19 -i $$(git ls-files '*.cpp' '*.h')

compile_commands.json: Makefile | $(OPCODES)  ## Write the compilation database for editors and clang-tidy
	@{ echo '['; first=; for f in $(SOURCES) $(TOOL_SOURCES) $(TEST_SOURCES) $(DOUBLE_SOURCES) $(FUZZ_TARGETS); do \
	  [ -z "$$first" ] || echo ','; first=1; \
	  printf '{"directory":"%s","file":"%s","command":"clang++-19 -std=c++23 $(subst ",\\",$(subst ','\'',$(CPPFLAGS))) -isystem $(LLVM_INCLUDE) -march=x86-64-v3 -DGTEST_DONT_DEFINE_FAIL=1 -c %s"}' "$(CURDIR)" $$f $$f; \
	done; echo ']'; } >$@

site: all  ## Write the manual as HTML, build/site/index.html; hlo help shows the same pages
	$(BUILD)/bin/hlo help --html=$(BUILD)/site

# ---- Shipping ------------------------------------------------------------------------------------------------------

DIST := hlokit-$(VERSION)-x86_64-linux

dist: all  ## Make build/$(DIST).tar.xz: the stripped program with testdata and gpu-check
	BUILD=$(BUILD) scripts/dist $(DIST)

deb: all  ## Make build/hlokit_$(VERSION)_amd64.deb, for Debian 12, Ubuntu 22.04 or newer
	BUILD=$(BUILD) scripts/deb $(VERSION)

wheel: all  ## Make build/hlokit-$(VERSION)-*.whl: the program and a module for Python, for pip; DEFLATE=1: also for uv
	BUILD=$(BUILD) scripts/wheel $(if $(DEFLATE),--deflate )$(VERSION)

# STRIP=1 removes debug information.
PREFIX ?= /usr/local
install: all  ## Copy the program, its links, man pages and completion below PREFIX
	install -D $(if $(STRIP),-s )-m 755 $(BUILD)/bin/hlo $(DESTDIR)$(PREFIX)/bin/hlo
	cd $(DESTDIR)$(PREFIX)/bin && for link in $(LINKS); do ln -sf hlo $$link; done
	scripts/share $(BUILD)/bin/hlo $(DESTDIR)$(PREFIX)/share
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/hlokit README.md CHANGELOG.md LICENSE packaging/copyright

clean:  ## Remove all build folders
	rm -rf $(BUILD) build-asan build-fuzz compile_commands.json

.PHONY: all help deps hooks demo test run-tests fuzz diff golden golden-check test-exhaustive test-inject mutants kernel-check verifier-coverage asan cuda-doubles cudnn-plans gpu-check bench bench-interp bench-parse bench-scale bench-fusion bench-cpu bench-compile seeds corpus pass-pairs models lint tidy format format-check objects-equal checks prose-check prose site dist deb wheel install clean
