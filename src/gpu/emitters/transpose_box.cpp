// A box is read in the operands' order, permuted in shared memory by a table, and written in the outputs' order. Reads
// and writes are vectors, because a processor limits the number of pending stores, whether elements or vectors.
#include "gpu/emitters/transpose_box.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "gpu/emitters/loop.h"
#include "gpu/emitters/scalar.h"
#include "gpu/plan/transpose_box.h"

namespace hlo::gpu {
namespace {

class BoxEmitter {
 public:
  BoxEmitter(LoopSpace& space, const TransposeBox& box, KernelFrame& frame)
      : space_(space),
        box_(box),
        k_(frame.k()),
        emission_(frame.emission()),
        read_pitches_(box.LoadedPitches()),
        written_pitches_(box.WrittenPitches()),
        arrays_(MakeOutputs(space, space.Values(), frame)) {}

  void Emit() {
    k_.CountsTo(space_.Size());
    BindOrigin();
    for (const NodeId load : box_.loads) {
      const Type type = KernelTypeOf(space_.graph.node(load).inst->shape().type());
      read_.push_back(k_.Shared(Str("read", read_.size()), type, box_.Elements()));
      written_.push_back(k_.Shared(Str("written", written_.size()), type, box_.Elements()));
    }
    Read();
    Permute();
    Write();
  }

 private:
  struct Run {
    // The run's start in each box.
    Value read, written;
    Value count;
  };

  void BindOrigin() {
    Value rest = k_.block();
    for (size_t v = space_.variables.size(); v-- > 0;) {
      const int64_t size = space_.variables[v].size, steps = CeilDiv(size, box_.sides[v]);
      const Value at = steps == 1 ? k_.Index(0) : rest % steps * box_.sides[v];
      if (steps > 1) rest = rest / steps;
      origin_.insert(origin_.begin(), at);
      counts_.insert(counts_.begin(), size % box_.sides[v] == 0 ? k_.Index(box_.sides[v])
                                                                : Min(k_.Index(box_.sides[v]), k_.Index(size) - at));
    }
  }

  // Calls `body` for each run: the contiguous elements along `variables` (minor first). In a run, the minor variable
  // counts all elements. Other variables become loops.
  void ForEachRun(std::span<const size_t> variables, const std::function<void(const Run&)>& body) {
    std::vector<size_t> loops;
    int64_t below = 1;
    for (size_t v = 0; v < space_.variables.size(); ++v) {
      if (std::ranges::find(variables, v) == variables.end()) loops.push_back(v);
    }
    for (const size_t v : variables) {
      if (v != variables.front()) emission_.Bind(space_.variables[v].e, origin_[v]);
      if (v != variables.back()) below *= box_.sides[v];
    }
    const Value count = counts_[variables.back()] * below;
    const std::function<void(size_t, Run)> loop = [&](size_t depth, Run at) {
      if (depth == loops.size()) return body(at);
      const size_t v = loops[depth];
      if (box_.sides[v] == 1) {
        Emission::Scope scope(emission_);
        emission_.Bind(space_.variables[v].e, origin_[v]);
        return loop(depth + 1, at);
      }
      k_.Loop(k_.Index(0), counts_[v], int64_t{1}, [&](Value i) {
        Emission::Scope scope(emission_);
        emission_.Bind(space_.variables[v].e, origin_[v] + i);
        loop(depth + 1, {at.read + i * read_pitches_[v], at.written + i * written_pitches_[v], at.count});
      });
    };
    loop(0, {k_.Index(0), k_.Index(0), count});
  }

  void ForEachElement(int64_t most, Value count, const std::function<void(Value)>& body) {
    const int64_t threads = k_.threads();
    const auto element = [&](Value i) {
      Emission::Scope in_tile(emission_);
      body(i);
    };
    if (most <= threads) return k_.Tile(1, count, element);
    k_.Loop(k_.Index(0), count, threads,
            [&](Value begin) { k_.Tile(1, count - begin, [&](Value i) { element(begin + i); }); });
  }

  void Read() {
    const std::span<const size_t> run = std::span(box_.order).first(box_.loaded_run);
    const LoopSpace::Variable& minor = space_.variables[run[0]];
    emission_.SetLane(minor.e);
    Emission::Scope scope(emission_);
    ForEachRun(run, [&](const Run& at) {
      for (const NodeId load : box_.loads) emission_.Hoist(space_.graph.node(load).offset);
      ForEachElement(box_.LoadedRunElements(), at.count, [&](Value i) {
        emission_.Bind(minor.e, origin_[run[0]] + i);
        for (size_t j = 0; j < read_.size(); ++j) read_[j].Store(at.read + i, emission_.Emit(box_.loads[j]));
      });
    });
  }

  // For each element of a written run, its place in the read box.
  std::vector<int64_t> Places() const {
    std::vector<int64_t> places = {0};
    for (size_t v = box_.run; v < space_.variables.size(); ++v) {
      std::vector<int64_t> finer;
      for (const int64_t place : places) {
        for (int64_t i = 0; i < box_.sides[v]; ++i) finer.push_back(place + i * read_pitches_[v]);
      }
      places = std::move(finer);
    }
    return places;
  }

  void Permute() {
    std::optional<Array> table;
    if (box_.run + 1 < space_.variables.size()) table = k_.Table("places", Type::kS32, Places());
    Emission::Scope scope(emission_);
    ForEachRun(WrittenRun(), [&](const Run& at) {
      ForEachElement(box_.RunElements(), at.count, [&](Value i) {
        const Value place = table ? Convert(table->Load(i), Type::kIndex) : i * read_pitches_.back();
        for (size_t j = 0; j < read_.size(); ++j) written_[j].Store(at.written + i, read_[j].Load(at.read + place));
      });
    });
  }

  void Write() {
    const LoopSpace::Variable& minor = space_.minor();
    emission_.SetLane(minor.e);
    Emission::Scope scope(emission_);
    ForEachRun(WrittenRun(), [&](const Run& at) {
      emission_.Hoist(space_.Values());
      for (const auto& output : space_.outputs) emission_.Hoist(output.offset);
      ForEachElement(box_.RunElements(), at.count, [&](Value i) {
        emission_.Bind(minor.e, origin_.back() + i);
        for (size_t j = 0; j < written_.size(); ++j) emission_.Bind(box_.loads[j], {written_[j].Load(at.written + i)});
        std::vector<std::vector<Value>> results;
        for (const auto& output : space_.outputs) results.push_back(emission_.EmitParts(std::span(&output.value, 1)));
        for (size_t j = 0; j < results.size(); ++j)
          StoreElement(arrays_[j], emission_.Lower(space_.outputs[j].offset), results[j]);
      });
    });
  }

  std::vector<size_t> WrittenRun() const {
    std::vector<size_t> run;
    for (size_t v = space_.variables.size(); v-- > box_.run;) run.push_back(v);
    return run;
  }

  LoopSpace& space_;
  const TransposeBox& box_;
  KernelBuilder& k_;
  Emission& emission_;
  const std::vector<int64_t> read_pitches_, written_pitches_;
  const std::vector<Array> arrays_;
  // Each load's box in the order of reading and of writing.
  std::vector<Array> read_, written_;
  std::vector<Value> origin_, counts_;
};

}  // namespace

Result<EmittedKernel> EmitTransposeBox(LoopSpace& space, const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const std::optional<TransposeBox> box = BoxOf(space, plan.tile);
  TRY(request.Require(box.has_value(),
                      "its tile is not a box of a value that is read in one memory order and written in another"));
  std::vector<TileAxis> axes;
  for (const LoopSpace::Variable& variable : space.variables) axes.push_back({variable.size, Role::kKept});
  KernelFrame frame(space.graph, space.Values(), LaunchOf(space, axes, plan), request);
  BoxEmitter(space, *box, frame).Emit();
  return std::move(frame).Finish("transpose, boxes");
}

}  // namespace hlo::gpu
