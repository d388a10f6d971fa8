// Computations and the module that holds them.
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

// The instructions of a computation that were not removed, without a copy: for reading.
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
  // Dense in the module, never reused: side tables are vectors by id, of Module::computation_id_limit() entries.
  int id() const { return id_; }
  const std::string& name() const { return name_; }
  Module& module() const { return *module_; }

  Instruction& root() const { return *root_; }
  bool has_root() const { return root_ != nullptr; }
  void SetRoot(Instruction& root);

  // By parameter number.
  std::span<Instruction* const> parameters() const { return parameters_; }
  Instruction& parameter(int64_t i) const { return *parameters_[i]; }

  // All that were added and not removed, in order of the text or of adding; the schedule once the module is scheduled.
  // A snapshot: changing the computation meanwhile is fine.
  std::vector<Instruction*> Instructions() const;
  // The same without a copy, while the computation does not change.
  LiveInstructions instructions() const { return LiveInstructions(instructions_); }
  int64_t InstructionCount() const { return live_count_; }
  // All that has control predecessors, and more; what was removed, too.
  std::span<Instruction* const> waiting() const { return waiting_; }
  size_t place_limit() const { return instructions_.size(); }
  // Another one, of all in the module, whenever what Fingerprint looks at may have changed.
  uint64_t version() const { return version_; }
  // Operands and control predecessors before users, ties in order of Instructions(). All that were not removed.
  std::vector<Instruction*> PostOrder() const;
  // Who is called by the instructions, in their order and that of their fields; once for each call. Until this changes.
  const std::vector<Computation*>& Callees() const;
  // Does one of the instructions have a side effect (ir/side_effects.h)?
  bool HasSideEffect() const;
  // The order of execution from here on; must hold each live instruction once, operands first.
  void SetOrder(const std::vector<Instruction*>& order);

  // Appends an instruction. `name` is a wish: it is made unique. The attributes must be those of the opcode's row.
  Instruction& Add(Opcode opcode, Shape shape, Operands operands, Attributes attrs = NoAttrs(),
                   std::string_view name = "");
  // For the parser: as Add, but the name is taken as it stands until Module::ClaimNames makes it unique, and the number
  // of operands is not checked.
  Instruction& AddNamed(Opcode opcode, Shape&& shape, Operands&& operands, Attributes&& attrs, std::string_view name);
  // The same as Add, with range and metadata of `from`, from which the new one is derived.
  Instruction& AddLike(const Instruction& from, Opcode opcode, Shape shape, Operands operands,
                       Attributes attrs = NoAttrs());
  // A copy of `from` (which may be of another computation) with other operands: attributes, common attributes, range,
  // origin and, as far as it is free, the name.
  Instruction& AddClone(const Instruction& from, Operands operands);
  Instruction& AddClone(const Instruction& from, Shape shape, Operands operands);
  Instruction& AddConstant(Literal literal, std::string_view name = "constant");
  Instruction& AddParameter(int64_t number, Shape shape, std::string_view name = "");
  Instruction& AddTuple(Operands operands);
  Instruction& AddGetTupleElement(Instruction& tuple, int64_t index);

  // Marks it removed; it must have no users and not be the root. The memory goes with Module::Sweep.
  void Remove(Instruction& inst);
  // Removes it and then operands that have become dead and have no side effect (parameters of the entry stay).
  void RemoveDeadTree(Instruction& inst);
  // Several at once, which nothing else uses.
  void RemoveAll(std::span<Instruction* const> dead);
  // Those for which `goes`, by number; they must be dead. The others are numbered anew.
  void RemoveParameters(const std::vector<bool>& goes);

  bool IsEntry() const;
  // What calls this, kept by nobody: found by a walk over the module. Empty for the entry.
  std::vector<Instruction*> Callers() const;

  ~Computation();

  std::string execution_thread = "main";
  SourceRange range;

 private:
  friend class Module;
  friend class Instruction;
  Computation(Module& module, std::string name);

  // What was found of this when it had that version. Several threads may ask; where it is not known yet, one of them
  // finds it, under the module's lock.
  template <class T>
  struct Kept {
    std::atomic<uint64_t> version = 0;
    T value;
  };
  template <class T, class Find>
  const T& Keep(Kept<T>& kept, Find&& find) const;

  Instruction& New(int id, Opcode opcode, Shape&& shape, std::string_view name, Attributes&& attrs);
  void Free(Instruction* inst);
  void Touch();  // It may have changed.
  void NumberPlaces();
  bool IsInPostOrder() const;
  std::vector<Instruction*> FindPostOrder() const;
  bool HasOwnSideEffect() const;  // Not by what it calls.

  Module* module_;
  int id_;
  std::string name_;
  Instruction* root_ = nullptr;
  std::vector<Instruction*> instructions_;  // In the module's pool; removed ones too, until the sweep.
  std::vector<Instruction*> parameters_;
  std::vector<Instruction*> waiting_;
  InPlaceOfGone gone_;  // What was removed since the last sweep, where anybody waits.
  int64_t live_count_ = 0;
  uint64_t version_ = 0;
  mutable Kept<std::vector<Instruction*>> post_order_;  // Empty: as it is.
  mutable Kept<std::vector<Computation*>> callees_;
  mutable Kept<bool> own_side_effect_;
  mutable Kept<bool> side_effect_;  // Of this version of the module.
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

// What the header line says beside the name: docs/language.md#header.
struct ModuleHeader {
  bool is_scheduled = false;
  std::vector<InputOutputAlias> aliases;
  std::vector<BufferDonor> donors;
  bool alias_passthrough_params = false;
  std::optional<Shape> entry_parameters;  // entry_computation_layout, as a tuple of the parameters...
  std::optional<Shape> entry_result;      // ...and the result.
  PropagationFlags propagation_to_parameters, propagation_to_output;
  int64_t replica_count = 1;
  int64_t num_partitions = 1;
  FrontendAttributes frontend_attributes;
  RawText origin_recovery_table, debug_attributes;
  BackendConfig backend_config;
  std::string stack_frames;  // The tables' text as written, from "FileNames" on, or empty.
};

class Module {
 public:
  explicit Module(std::string name) : name_(std::move(name)) {}
  Module(const Module&) = delete;

  const std::string& name() const { return name_; }
  void SetName(std::string name) { name_ = std::move(name); }
  ModuleHeader header;
  std::shared_ptr<const SourceText> source;  // What ranges refer to; null for modules made in memory.

  Computation& entry() const { return *entry_; }
  bool has_entry() const { return entry_ != nullptr; }
  void SetEntry(Computation& entry) { entry_ = &entry; }
  // In order of adding (the text's). A snapshot.
  std::vector<Computation*> Computations() const;
  // Callees before callers, the entry last; only what the entry reaches.
  std::vector<Computation*> PostOrder() const;
  Computation& AddComputation(std::string_view name);
  // A copy of `from` (of any module whose called computations exist here) under a new name. `map`, by old instruction,
  // receives the new ones when not null.
  Computation& CloneComputation(const Computation& from, std::string_view name,
                                std::unordered_map<const Instruction*, Instruction*>* map = nullptr);
  // Removes what the entry does not reach. True when anything went.
  bool RemoveUnreachable();

  int id_limit() const { return next_id_; }
  int computation_id_limit() const { return next_computation_id_; }
  // What is added from here on is made by this pass instance, "fusion#2"; "": by nobody in particular.
  void SetMaker(std::string pass);
  std::string_view MakerOf(const Instruction& inst) const;  // "" for what was read.
  int64_t InstructionCount() const;

  // Frees removed instructions. Who still waits for one of them waits for what it ran after.
  void Sweep();

  // A deep copy; ids are kept, so side tables carry over, and each copy's origin is the id of what it was copied from
  // when `as_input` (the start of a pipeline), else the same as there.
  std::unique_ptr<Module> Clone(bool as_input = false) const;

  // `wish`, or `stem.N` when it is taken, as XLA numbers: N follows the stem's own count, a numeric suffix of `wish` is
  // cut off first, and `add` counts as `add.0`. Names of instructions and computations are unique in the module, each
  // kind by itself.
  std::string UniqueName(std::string_view wish) { return names_.Unique(wish); }
  // Makes the names of the computation's instructions unique, in their order.
  void ClaimNames(Computation& computation);
  void ReserveNames(size_t names) { names_.Reserve(names); }  // That many instructions are to be expected.

 private:
  friend class Computation;
  friend class Instruction;

  // Memory of what the computations hold, so it goes after them.
  Pool<Instruction> instructions_;
  Pool<CommonAttrs> commons_;
  Arena texts_;

  std::string name_;
  Computation* entry_ = nullptr;
  std::vector<std::unique_ptr<Computation>> computations_;
  int next_id_ = 0;
  int next_computation_id_ = 0;
  uint64_t versions_ = 0;
  mutable std::mutex keeping_;                       // Computation::Keep
  std::vector<std::pair<int, std::string>> makers_;  // From which id on.
  NameTable names_;
  NameTable computation_names_;
};

// A hash of all that has meaning, names and metadata aside: equal before and after a pass that changed nothing.
uint64_t Fingerprint(const Module& module);
uint64_t Fingerprint(const Computation& computation);

// The same of one module again and again: only computations that may have changed since are looked at.
class Fingerprinter {
 public:
  uint64_t Of(const Module& module);

 private:
  struct Known {
    uint64_t version = 0;  // Of none: they start at 1.
    uint64_t hash = 0;
  };
  std::vector<Known> known_;  // By id.
};

}  // namespace hlo

#endif  // HLO_IR_MODULE_H_
