// Dependencies between a block's nodes, by the bytes that they access.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "gpu/runtime/run/runner.h"
#include "ir/side_effects.h"

namespace hlo::gpu {
namespace {

// A range of bytes in an area or, with a binding, in the address space.
struct Extent {
  std::tuple<Area, int64_t> memory;
  int64_t begin, end;
};

struct Effects {
  std::vector<Extent> reads, writes;
  bool ordered = false;  // Side effects keep their order.
};

class EffectsOfNodes {
 public:
  EffectsOfNodes(const Program& program, const Binding* binding) : program_(program), binding_(binding) {}

  Effects EffectsOf(const Node& node) {
    effects_ = {};
    AddNode(node);
    return std::move(effects_);
  }

 private:
  void Add(PlaceNumber number, std::vector<Extent>& to) {
    const PlaceUse& use = program_.places[number];
    if (use.bytes == 0 || use.place.area == Area::kNothing) return;
    if (binding_ == nullptr) {
      to.push_back({{use.place.area, use.place.number}, use.place.offset, use.place.offset + use.bytes});
      return;
    }
    const auto address = reinterpret_cast<intptr_t>(binding_->Pointer(number));
    to.push_back({{Area::kNothing, 0}, address, address + use.bytes});
  }
  void Read(PlaceNumber number) { Add(number, effects_.reads); }
  void Write(PlaceNumber number) { Add(number, effects_.writes); }
  void Read(PlaceRange range) {
    for (int i = 0; i < range.count; ++i) Read(range.first + i);
  }
  void Write(PlaceRange range) {
    for (int i = 0; i < range.count; ++i) Write(range.first + i);
  }

  void AddCopies(const std::vector<CopyWork>& copies) {
    for (const CopyWork& copy : copies) {
      Read(copy.from);
      Write(copy.to);
    }
  }

  void AddWork(const Work& work) {
    if (const auto* kernel = std::get_if<KernelWork>(&work)) {
      Read(kernel->arguments);
      for (int i = 0; i < kernel->arguments.count; ++i) {
        if (kernel->writes[i]) Write(kernel->arguments.first + i);
      }
    } else if (const auto* call = std::get_if<LibraryWork>(&work)) {
      Read(call->operands);
      Write(call->results);
      Write(call->scratch);
      if (call->pack_once) {
        Read(call->packed);
      } else {
        Write(call->packed);
      }
    } else if (const auto* fill = std::get_if<FillWork>(&work)) {
      Write(fill->to);
    } else {
      const auto& host = std::get<HostWork>(work);
      Read(host.operands);
      Write(host.results);
    }
  }

  void AddBlock(const Block& block) {
    for (const Node& node : block) AddNode(node);
  }

  void AddNode(const Node& node) {
    if (const auto* loop = std::get_if<std::unique_ptr<LoopNode>>(&node)) {
      AddCopies((*loop)->enter);
      AddBlock((*loop)->condition);
      Read((*loop)->predicate);
      AddBlock((*loop)->body);
      AddCopies((*loop)->back);
      if ((*loop)->decided.trips != 0) Write((*loop)->decided.trips);
      if (const PlaceRange& next = (*loop)->decided.next_arguments; next.count > 0) Write(next.first + next.count - 1);
    } else if (const auto* branch = std::get_if<std::unique_ptr<BranchNode>>(&node)) {
      Read((*branch)->selector);
      for (const BranchNode::Branch& one : (*branch)->branches) {
        AddBlock(one.block);
        AddCopies(one.end);
      }
    } else {
      const Step& step = std::get<Step>(node);
      AddCopies(step.copies);
      for (const Work& work : step.work) AddWork(work);
      effects_.ordered |= HasSideEffect(*step.instruction);
    }
  }

  const Program& program_;
  const Binding* const binding_;
  Effects effects_;
};

class Memory {
 public:
  // Adds to `waits` the nodes for which `node` must wait.
  void Touch(const Extent& extent, int node, bool writes, std::set<int>& waits) {
    Pieces& pieces = memories_[extent.memory];
    CutAt(pieces, extent.begin);
    CutAt(pieces, extent.end);
    int64_t at = extent.begin;
    for (auto piece = pieces.lower_bound(extent.begin); at < extent.end; ++piece) {
      if (piece == pieces.end() || piece->first > at) {
        const int64_t end = piece == pieces.end() ? extent.end : std::min(extent.end, piece->first);
        piece = pieces.emplace_hint(piece, at, Piece{.end = end});
      }
      Piece& here = piece->second;
      if (here.writer >= 0 && here.writer != node) waits.insert(here.writer);
      if (writes) {
        for (const int reader : here.readers) {
          if (reader != node) waits.insert(reader);
        }
        here.writer = node;
        here.readers.clear();
      } else if (here.readers.empty() || here.readers.back() != node) {
        here.readers.push_back(node);
      }
      at = here.end;
    }
  }

 private:
  struct Piece {
    int64_t end;
    int writer = -1;
    std::vector<int> readers;
  };
  using Pieces = std::map<int64_t, Piece>;

  static void CutAt(Pieces& pieces, int64_t at) {
    auto piece = pieces.lower_bound(at);
    if (piece == pieces.begin()) return;
    --piece;
    if (piece->second.end <= at) return;
    Piece right = piece->second;
    piece->second.end = at;
    pieces.emplace(at, std::move(right));
  }

  std::map<std::tuple<Area, int64_t>, Pieces> memories_;
};

}  // namespace

std::vector<std::vector<int>> Dependencies(const Program& program, std::span<const Node> nodes,
                                           const Binding* binding) {
  EffectsOfNodes effects_of(program, binding);
  Memory memory;
  int last_ordered = -1;
  std::vector<std::vector<int>> after(nodes.size());
  for (int node = 0; node < std::ssize(nodes); ++node) {
    const Effects effects = effects_of.EffectsOf(nodes[node]);
    std::set<int> waits;
    for (const Extent& extent : effects.reads) memory.Touch(extent, node, false, waits);
    for (const Extent& extent : effects.writes) memory.Touch(extent, node, true, waits);
    if (effects.ordered) {
      if (last_ordered >= 0) waits.insert(last_ordered);
      last_ordered = node;
    }
    after[node].assign(waits.begin(), waits.end());
  }
  return after;
}

}  // namespace hlo::gpu
