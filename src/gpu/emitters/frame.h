// Makes a kernel's parameters and buffers. Emitters write the body.
#ifndef HLO_GPU_EMITTERS_FRAME_H_
#define HLO_GPU_EMITTERS_FRAME_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/emitters/emission.h"
#include "gpu/emitters/emitter.h"
#include "gpu/emitters/names.h"
#include "gpu/plan/elemental.h"
#include "gpu/plan/launch_shape.h"

namespace hlo::gpu {

std::string KernelName(const Instruction& source, std::string_view suffix);
// Arrays of the constants that are read at varying indices: tables in the code if small, else parameters with buffers.
std::map<const Instruction*, Array> LiteralArrays(const ElementGraph& graph, std::span<const NodeId> needed,
                                                  KernelBuilder& k, std::vector<KernelBuffer>& buffers);
Array LiteralArray(KernelBuilder& k, const std::string& name, const Literal& literal,
                   std::vector<KernelBuffer>& buffers);
void CountIndices(const ElementGraph& graph, std::span<const NodeId> needed, KernelBuilder& k);
// Records in `precision` that values are rounded to their types, and how folds add.
void AddPromises(const ElementGraph& graph, std::span<const NodeId> needed, PrecisionPlan& precision);

class KernelFrame {
 public:
  KernelFrame(ElementGraph& graph, std::span<const NodeId> needed, LaunchShape launch, const EmitRequest& request);

  KernelBuilder& k() { return k_; }
  Emission& emission() { return *emission_; }

  Array Output(const FusionBody::Root& root);
  // An output with only some elements written. The other elements come from `leaf`.
  Array InPlaceOutput(const FusionBody::Root& root, int leaf);
  // An output that the kernel may also read: an earlier kernel wrote it, or it already contains leaf `in_place_leaf`
  // (-1: none).
  Array WrittenOutput(const FusionBody::Root& root, int in_place_leaf);
  Array Scratch(int id, Type type, int64_t elements, bool zeroed = false);
  Array Constant(const std::string& name, const Literal& literal) { return LiteralArray(k_, name, literal, buffers_); }
  // A parameter (kS32) with one element. Kernels that differ only in the number share code.
  Array Number(const std::string& name, int32_t number);
  void Share(int leaf, const FusionBody::Root& root);

  EmittedKernel Finish(std::string_view emitter) &&;

 private:
  Array OutputAs(const FusionBody::Root& root, bool read, int in_place_leaf);

  ElementGraph& graph_;
  KernelBuilder k_;
  std::unique_ptr<Emission> emission_;
  std::vector<KernelBuffer> buffers_;
  std::vector<SharablePair> sharable_;
  std::map<int, Array> leaves_;
  std::map<const FusionBody::Root*, Array> outputs_;
  std::vector<NodeId> needed_;
};

// Splits `linear` into the role's variables and binds them, except the space's last one (the lane).
void BindAll(const IterationSpace& space, Emission& emission, Role role, Value linear);

// Runs `body` in a tile over the part of [begin, begin + step) below `size`, without masks if `step` divides `size`. If
// `step` is below 32, lanes are idle.
void TileOver(KernelBuilder& k, int width, int64_t size, Value begin, int64_t step,
              const KernelBuilder::IndexBody& body);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_FRAME_H_
