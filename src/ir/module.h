#ifndef HLO_IR_MODULE_H_
#define HLO_IR_MODULE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/arena.h"
#include "base/source_text.h"
#include "ir/control_edges.h"
#include "ir/instruction.h"
#include "ir/name_table.h"

namespace hlo {

class Module;

// A view that skips removed instructions.
class LiveInstructions {
 public:
  class Iterator {
   public:
    Iterator(Instruction* const* at, Instruction* const* end) : at_(at), end_(end) { SkipRemoved(); }
    Instruction* operator*() const { return *at_; }
    Iterator& operator++() {
      ++at_;
      SkipRemoved();
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    void SkipRemoved() {
      while (at_ != end_ && (*at_)->removed()) ++at_;
    }
    Instruction* const* at_;
    Instruction* const* end_;
  };

  explicit LiveInstructions(std::span<Instruction* const> all) : all_(all) {}
  Iterator begin() const { return {all_.data(), all_.data() + all_.size()}; }
  Iterator end() const { return {all_.data() + all_.size(), all_.data() + all_.size()}; }

 private:
  std::span<Instruction* const> all_;
};

class Computation {
 public:
  // Dense in the module and never reused. Side tables have Module::computation_id_limit() entries.
  int id() const { return id_; }
  const std::string& name() const { return name_; }
  Module& module() const { return *module_; }

  Instruction& root() const { return *root_; }
  bool has_root() const { return root_ != nullptr; }
  void SetRoot(Instruction& root);

  std::span<Instruction* const> parameters() const { return parameters_; }
  Instruction& parameter(int64_t i) const { return *parameters_[i]; }

  // Live instructions, in the order of execution if the module is scheduled, otherwise in the order of the text and of
  // adding. A copy, so the computation may change meanwhile.
  std::vector<Instruction*> Instructions() const;
  // Avoids the copy, so the computation must not change meanwhile.
  LiveInstructions instructions() const { return LiveInstructions(instructions_); }
  int64_t InstructionCount() const { return live_count_; }
  // All instructions with control predecessors, and maybe others, even removed ones.
  std::span<Instruction* const> waiting() const { return waiting_; }
  size_t place_limit() const { return instructions_.size(); }
  // Unique in the module. Changes whenever the Fingerprint may have changed.
  uint64_t version() const { return version_; }
  // Operands and control predecessors come first. Equals Instructions() if that order has this property.
  std::vector<Instruction*> PostOrder() const;
  // The result of CalleesOf, valid until the computation changes.
  const std::vector<Computation*>& Callees() const;
  bool HasSideEffect() const;
  // `order` must have each live instruction once, operands first.
  void SetOrder(const std::vector<Instruction*>& order);

  // Makes `name` unique. The attributes must have the struct of the opcode's row.
  Instruction& Add(Opcode opcode, Shape shape, Operands operands, Attributes attrs = NoAttrs(),
                   std::string_view name = "");
  // For the parser and for copies that take over a name. Checks neither the name nor the number of operands.
  Instruction& AddNamed(Opcode opcode, Shape&& shape, Operands&& operands, Attributes&& attrs, std::string_view name);
  Instruction& AddLike(const Instruction& from, Opcode opcode, Shape shape, Operands operands,
                       Attributes attrs = NoAttrs());
  // Copies attributes, common attributes, range and origin, and the name if it is free.
  Instruction& AddClone(const Instruction& from, Operands operands);
  Instruction& AddClone(const Instruction& from, Shape shape, Operands operands);
  Instruction& AddConstant(Literal literal, std::string_view name = "constant");
  Instruction& AddParameter(int64_t number, Shape shape, std::string_view name = "");
  Instruction& AddTuple(Operands operands);
  Instruction& AddGetTupleElement(Instruction& tuple, int64_t index);

  // The instruction must have no users and not be the root. Module::Sweep frees it.
  void Remove(Instruction& inst);
  // Also removes operands that have become dead and have no side effect. Parameters stay.
  void RemoveDeadTree(Instruction& inst);
  void RemoveAll(std::span<Instruction* const> dead);
  // Removes the parameters marked in `goes`, which must have no users, and renumbers the others.
  void RemoveParameters(const std::vector<bool>& goes);

  bool IsEntry() const;
  std::vector<Instruction*> Callers() const;

  ~Computation();

  std::string execution_thread = "main";
  SourceRange range;

 private:
  friend class Module;
  friend class Instruction;
  Computation(Module& module, std::string name);

  // A result for one version of the computation. Several threads may read it. Updates hold the module's lock.
  template <class T>
  struct Kept {
    std::atomic<uint64_t> version = 0;
    T value;
  };
  template <class T, class Find>
  const T& Keep(Kept<T>& kept, Find&& find) const;

  Instruction& New(int id, Opcode opcode, Shape&& shape, std::string_view name, Attributes&& attrs);
  void Free(Instruction* inst);
  void Touch();
  void NumberPlaces();
  bool IsInPostOrder() const;
  std::vector<Instruction*> FindPostOrder() const;
  bool HasOwnSideEffect() const;

  Module* module_;
  int id_;
  std::string name_;
  Instruction* root_ = nullptr;
  std::vector<Instruction*> instructions_;  // Removed instructions stay until Sweep.
  std::vector<Instruction*> parameters_;
  std::vector<Instruction*> waiting_;
  Replacements gone_;
  int64_t live_count_ = 0;
  uint64_t version_ = 0;
  mutable Kept<std::vector<Instruction*>> post_order_;
  mutable Kept<std::vector<Computation*>> callees_;
  mutable Kept<bool> own_side_effect_;
  mutable Kept<bool> side_effect_;  // Valid for one version of the module.
};

// input_output_alias={ {0}: (0, {}, must-alias) }
struct InputOutputAlias {
  ShapeIndex output;
  int64_t parameter = 0;
  ShapeIndex parameter_index;
  bool must = false;
  bool operator==(const InputOutputAlias&) const = default;
};
struct BufferDonor {
  int64_t parameter = 0;
  ShapeIndex parameter_index;
  bool operator==(const BufferDonor&) const = default;
};

// The header line except the name: docs/language.md#header.
struct ModuleHeader {
  bool is_scheduled = false;
  std::vector<InputOutputAlias> aliases;
  std::vector<BufferDonor> donors;
  bool alias_passthrough_params = false;
  std::optional<Shape> entry_parameters;  // From entry_computation_layout, as a tuple.
  std::optional<Shape> entry_result;      // From entry_computation_layout.
  PropagationFlags propagation_to_parameters, propagation_to_output;
  int64_t replica_count = 1;
  int64_t num_partitions = 1;
  FrontendAttributes frontend_attributes;
  RawText origin_recovery_table, debug_attributes;
  BackendConfig backend_config;
  std::string stack_frames;  // As written, from "FileNames" on, or empty.
};

class Module {
 public:
  explicit Module(std::string name) : name_(std::move(name)) {}
  Module(const Module&) = delete;

  const std::string& name() const { return name_; }
  void SetName(std::string name) { name_ = std::move(name); }
  ModuleHeader header;
  std::shared_ptr<const SourceText> source;  // The text of ranges, or null.

  Computation& entry() const { return *entry_; }
  bool has_entry() const { return entry_ != nullptr; }
  void SetEntry(Computation& entry) { entry_ = &entry; }
  std::vector<Computation*> Computations() const;
  // Computations that the entry reaches, callees first, the entry last.
  std::vector<Computation*> PostOrder() const;
  Computation& AddComputation(std::string_view name);
  // If `from` is of another module, the caller must replace the called computations, which the clone shares. `map`, if
  // not null, receives the new instruction for each old one.
  Computation& CloneComputation(const Computation& from, std::string_view name,
                                std::unordered_map<const Instruction*, Instruction*>* map = nullptr);
  // Returns whether any computation was removed.
  bool RemoveUnreachable();

  int id_limit() const { return next_id_; }
  int computation_id_limit() const { return next_computation_id_; }
  // Sets the pass instance, such as "fusion#2", that makes later instructions. "" clears it.
  void SetMaker(std::string pass);
  std::string_view MakerOf(const Instruction& inst) const;  // "" for parsed instructions.
  int64_t InstructionCount() const;

  // Frees removed instructions. Control successors of a removed instruction inherit its operands and control
  // predecessors.
  void Sweep();

  // The copy keeps ids, so that both can use the same side tables. With `as_input`, at the start of a pipeline, origins
  // are the ids of the originals.
  std::unique_ptr<Module> Clone(bool as_input = false) const;

  // `wish`, or `stem.N` if it is taken. As in XLA, each stem has its own counter, and a numeric suffix of `wish` is
  // removed first. `add` counts as `add.0`. Instruction names are unique in the module, and so are computation names.
  std::string UniqueName(std::string_view wish) { return names_.Unique(wish); }
  void ClaimNames(Computation& computation);
  void ReserveNames(size_t names) { names_.Reserve(names); }

 private:
  friend class Computation;
  friend class Instruction;

  // Memory of instructions, attributes and names, which must outlive the computations.
  Pool<Instruction> instructions_;
  Pool<CommonAttrs> commons_;
  Arena texts_;

  std::string name_;
  Computation* entry_ = nullptr;
  std::vector<std::unique_ptr<Computation>> computations_;
  int next_id_ = 0;
  int next_computation_id_ = 0;
  uint64_t versions_ = 0;
  mutable std::mutex keeping_;                       // For Computation::Keep.
  std::vector<std::pair<int, std::string>> makers_;  // Pairs of the first id and the pass.
  NameTable names_;
  NameTable computation_names_;
};

// A hash of instructions, operands, control edges, schedule and aliased parameters. Only names of called computations
// count. backend_config and sharding are the only common attributes that count.
uint64_t Fingerprint(const Module& module);
uint64_t Fingerprint(const Computation& computation);

// Keeps hashes of computations until their versions change.
class Fingerprinter {
 public:
  uint64_t FingerprintOf(const Module& module);

 private:
  struct Known {
    uint64_t version = 0;  // No computation has version 0.
    uint64_t hash = 0;
  };
  std::vector<Known> known_;
};

}  // namespace hlo

#endif  // HLO_IR_MODULE_H_
