// The last pass of the host lowering: emits LLVM IR for a kernel.
#ifndef HLO_GPU_CODEGEN_HOST_EMISSION_H_
#define HLO_GPU_CODEGEN_HOST_EMISSION_H_

#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "gpu/codegen/host/segments.h"
#include "gpu/codegen/host/strips.h"
#include "gpu/codegen/host/wide.h"
#include "gpu/codegen/scalar.h"
#include "gpu/kernel/facts.h"

namespace hlo::kernel {

// Loops over at most this many vectors with a short body are unrolled, so that slots become registers. Vectors in
// memory mean more instructions and fewer loads in flight (bench/results/reductions.md#partial-results).
constexpr int64_t kVectorsWrittenOut = 8;

class HostEmission {
 public:
  HostEmission(const Kernel& kernel, bool masked_tails, llvm::Module& module);
  void Lower(const std::string& name);

 private:
  using LlvmValue = llvm::Value*;
  using Values = llvm::SmallVector<LlvmValue, 2>;

  // emission.cpp
  void MakeEntry(const std::string& name);
  void MakeBody(const std::string& name, llvm::GlobalValue::LinkageTypes linkage);
  void MakeStorage();
  llvm::AllocaInst* Alloca(llvm::Type* type);
  llvm::AllocaInst* AllocaAtEntry(llvm::Type* type);
  LlvmValue Index(int64_t value) { return b_.getInt64(value); }
  LlvmValue Get(int32_t id);
  void Set(int32_t id, LlvmValue value) { values_[id] = value; }
  void EmitRegion(const Region& region);
  void Emit(const Instruction& instruction);
  void EmitScalar(const Instruction& instruction);
  // EmitLoad, EmitTile, ... are in the files of their kinds.
#define HLO_SCALAR_OP(Name, ...)
#define HLO_KERNEL_OP(Name, ...) void Emit##Name(const Instruction& instruction);
#include "gpu/kernel/kernel_ops.def"
  LlvmValue Compute(const Instruction& instruction);

  // loops.cpp
  struct LoopKind {
    bool lanes = false;
    bool unroll = true;
    int interleave = 1;
    bool is_done = false;   // LLVM must not vectorise the loop.
    bool has_gaps = false;  // See WidePlan.
  };
  void Loop(LlvmValue begin, LlvmValue end, LlvmValue step, LoopKind kind, const std::function<void(LlvmValue)>& body);
  void LoopWithSteps(LlvmValue begin, LlvmValue end, LoopKind kind, const std::function<LlvmValue(LlvmValue)>& body);
  void Lanes(LlvmValue end, const std::function<void(LlvmValue)>& body, int interleave = 1, bool has_gaps = false);
  void Lanes(LlvmValue end, const WidePlan& wide, const std::function<void(LlvmValue)>& body, int interleave = 1);
  int64_t VectorBytes() const { return masked_tails_ ? 64 : 32; }
  LlvmValue Wide(int32_t id);
  void CarryVariables(const WidePlan& wide);
  bool IsLine(int32_t id) const { return wide_ && wide_->stride[id] == 1; }
  void ForWarps(const std::function<void()>& body);
  llvm::MDNode* LoopProperties(LoopKind kind);
  // Calls emit(0) for the code of a true condition, and emit(1) for a false one.
  void Branch(LlvmValue condition, bool has_else, const std::function<void(int)>& emit);

  // threads.cpp
  struct Segment {
    const SegmentPlan* plan;
    std::unordered_map<const Instruction*, LlvmValue> at_begin = {};
    LlvmValue begin = nullptr, position = nullptr;
  };
  struct Strip {
    const StripPlan* plan;
    std::function<void(LlvmValue)> bind;
    const SegmentPlan* segments;
    // The body's arguments that number its elements.
    std::span<const int32_t> indices;
    std::vector<llvm::AllocaInst*> values, variables;  // Indexed by value and variable. Null if not stored in an array.
    LlvmValue begin = nullptr, count = nullptr, lane = nullptr;
    int next_group = 1, current = 0;
  };
  size_t EmitTiles(std::span<const Instruction> instructions);
  int64_t Elements(const Instruction& tile) const;
  LlvmValue EndOf(const Instruction& tile);
  void WithSlotsCopied(const Region& region, const std::function<void()>& emit);
  void BindElement(const Instruction& tile, LlvmValue element);
  void EmitElements(const Instruction& tile, LlvmValue end);
  LlvmValue AtBegin(const Segment& segment, int32_t id);
  LlvmValue BeginSegment(Segment& segment, LlvmValue begin, LlvmValue left);
  LlvmValue InSegment(const Instruction& instruction);
  void EmitThreads(const Region& region, LlvmValue end, const SegmentPlan* segments,
                   const std::function<void(LlvmValue)>& bind);
  bool EmitInRegisters(const Region& region, LlvmValue end, const SegmentPlan* segments,
                       const std::function<void(LlvmValue)>& bind);
  void EmitStrips(const Region& region, LlvmValue end, const StripPlan& plan, const SegmentPlan* segments,
                  const std::function<void(LlvmValue)>& bind);
  llvm::AllocaInst* StripArray(Type type);
  void EmitStripRegion(const Region& region);
  void EmitGroup(const std::vector<const Instruction*>& members);
  void EmitCut(const Instruction& cut);
  LlvmValue StripElement(llvm::AllocaInst* array);
  void KeepResults(const Instruction& instruction);
  LlvmValue FromOtherGroup(int32_t id);
  LlvmValue StripVariable(const Instruction& access);

  // clusters.cpp
  LlvmValue Storage(llvm::Type* type);
  void EmitCluster(const Region& region);
  void EmitByTurns(const std::vector<const Instruction*>& instructions);
  void EnterBlock(LlvmValue rank);
  LlvmValue OfBlock(LlvmValue storage, LlvmValue rank);
  void KeepOfBlock(int32_t id);
  void TakeUp(std::span<const int32_t> values);
  void TakeUp(const Instruction& instruction);

  // memory.cpp
  void AtMember(int64_t array, int32_t member, const std::function<void()>& access);
  LlvmValue LoadFrom(LlvmValue address, Type type, bool lanes, bool constant = false, bool wide = false);
  void StoreTo(LlvmValue address, Type type, LlvmValue value, bool lanes);
  LlvmValue Address(int64_t array, LlvmValue index);
  LlvmValue LoadElement(int64_t array, LlvmValue index, bool wide = false);
  void StoreElement(int64_t array, LlvmValue index, LlvmValue value);
  llvm::ArrayType* TransposedType(const ArrayInfo& tile);
  LlvmValue TransposedAddress(int64_t tile, LlvmValue row, LlvmValue column);
  llvm::Type* SlotElement(int64_t slot);
  int64_t SlotElements(int64_t slot) const;
  llvm::ArrayType* SlotType(int64_t slot);
  LlvmValue WarpBase(int64_t slot);
  LlvmValue SlotAddress(const Instruction& access);
  LlvmValue InFragment(FragmentKind kind, int64_t element);

  // matrices.cpp
  LlvmValue Factor(LlvmValue bits, MmaShape shape);

  // collectives.cpp: a slot's values in all lanes of a warp as vectors.
  struct LanePiece {
    Values values;  // Vectors, or scalars for a single lane.
    // Each vector element's place in the sequence of lanes. An even place is combined with the next place.
    llvm::SmallVector<int> places;
  };
  LanePiece LoadPiece(const Instruction& reduce, int first, int lanes);
  LanePiece CombineNeighbours(const Instruction& reduce, const LanePiece& a, const LanePiece* b, int block);
  LlvmValue LoadLanes(int32_t slot);
  void StoreLanes(int32_t slot, LlvmValue value);
  Values LoadAllLanes(const Instruction& instruction);
  LlvmValue Permute(LlvmValue vector, int lanes, const std::function<int(int)>& source);
  Values CombineByLane(const Instruction& instruction, const Values& a, const Values& b);
  Values Combine(const Instruction& instruction, const Values& a, const Values& b);

  const Kernel& kernel_;
  const HostFacts facts_;
  const bool masked_tails_;
  llvm::LLVMContext& context_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  ScalarEmitter scalar_;
  llvm::Function* function_ = nullptr;
  llvm::Instruction* allocas_ = nullptr;  // Allocas are inserted before it.
  std::vector<int> parameters_;
  std::vector<LlvmValue> arrays_, transposed_, slots_, variables_;
  std::vector<LlvmValue> values_;
  // The plan of the vector body that is being emitted, or null, and the number of its lanes.
  const WidePlan* wide_ = nullptr;
  unsigned width_ = 1;
  std::vector<LlvmValue> wide_variables_;
  std::map<int64_t, llvm::AllocaInst*> carried_;
  Strip* strip_ = nullptr;
  Segment* segment_ = nullptr;
  LlvmValue block_ = nullptr, warp_ = nullptr, lane_ = nullptr, thread_ = nullptr, tile_index_ = nullptr;
  llvm::MDNode* access_group_ = nullptr;  // Marks accesses in the loop over lanes; null outside.
  bool in_warps_ = false;
  // For clusters. EnterBlock sets `rank_`, and points `arrays_`, `slots_`, ... to the storage of that block.
  LlvmValue first_block_ = nullptr, rank_ = nullptr;
  std::map<LlvmValue, int64_t> block_bytes_;  // Bytes between two blocks' storage.
  struct {
    std::vector<LlvmValue> arrays, transposed, slots, variables;
  } of_all_blocks_;
  // Indexed by value: storage for a block-level value in each block of a cluster. Null if not stored.
  std::vector<llvm::AllocaInst*> kept_of_blocks_;
};

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_HOST_EMISSION_H_
