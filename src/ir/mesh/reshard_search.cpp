#include "ir/mesh/reshard_search.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hlo {
namespace {

int64_t LocalSize(int64_t whole, int64_t parts) { return (whole + parts - 1) / parts; }

void Append(AtomList& list, std::span<const uint8_t> atoms) { list.insert(list.end(), atoms.begin(), atoms.end()); }

// Applies the rules of FindRoute. The functions named after moves make one step, or return false.
class RouteSearch {
 public:
  RouteSearch(const MeshArray& array, const SplitState& from, const SplitState& goal, bool with_detours)
      : array_(array), now_(from), goal_(goal), with_detours_(with_detours) {}

  std::optional<Route> Run() {
    // More than enough without detours: each atom is gathered, summed and brought to its place at most once.
    const size_t most_steps = 4 * array_.atom_sizes.size() + 4;
    while (now_ != goal_) {
      if (route_.size() == most_steps || !Advance()) return std::nullopt;
    }
    return std::move(route_);
  }

 private:
  using Atoms = std::span<const uint8_t>;

  bool Advance() {
    return Permute() || Slice() || ScatterSum() || Exchange() || Sum() ||
           (with_detours_ && (Collect() || ExchangeWithFollowers() || ExchangeAhead())) || Gather();
  }

  bool Do(MoveKind kind, SplitState after) {
    now_ = after;
    route_.push_back({kind, std::move(after)});
    return true;
  }

  int64_t rank() const { return std::ssize(goal_.dims); }
  Atoms Have(int64_t dim) const { return now_.dims[dim]; }
  Atoms Want(int64_t dim) const { return goal_.dims[dim]; }

  // Whether the final split of a dimension can be reached from its first `count` atoms.
  bool IsStop(int64_t dim, size_t count) const { return array_.Nests(dim, Want(dim).first(count), Want(dim)); }

  // Whether a move can remove all but the first `count` atoms of a dimension.
  bool CanCutTo(int64_t dim, size_t count) const { return array_.Nests(dim, Have(dim).first(count), Have(dim)); }

  // The number of leading atoms at their final place. The others are in the way.
  size_t Kept(int64_t dim) const {
    size_t kept = std::ranges::mismatch(Have(dim), Want(dim)).in1 - Have(dim).begin();
    while (!IsStop(dim, kept) || !CanCutTo(dim, kept)) --kept;
    return kept;
  }

  bool IsReady(int64_t dim) const { return Kept(dim) == Have(dim).size(); }

  // The longest continuation of a dimension that is ready (IsReady), by allowed atoms.
  Atoms Continuation(int64_t dim, AxisSet allowed) const {
    const size_t kept = Have(dim).size();
    for (size_t end = Want(dim).size(); end > kept; --end) {
      const Atoms next = Want(dim).subspan(kept, end - kept);
      if (IsStop(dim, end) && (AxisSet::Of(next) - allowed).empty()) return next;
    }
    return {};
  }

  Atoms InTheWay(int64_t dim) const { return Have(dim).subspan(Kept(dim)); }

  // The fewest atoms that can continue a dimension after the atoms at their final place.
  Atoms NextBlock(int64_t dim) const {
    const size_t kept = Kept(dim);
    size_t end = std::min(kept + 1, Want(dim).size());
    while (!IsStop(dim, end)) ++end;
    return Want(dim).subspan(kept, end - kept);
  }

  // The fewest atoms at the end of a dimension that are in the way and can be removed alone.
  Atoms LeastRemovable(int64_t dim) const {
    const size_t kept = Kept(dim);
    if (kept == Have(dim).size()) return {};
    size_t rest = Have(dim).size() - 1;
    while (rest > kept && !CanCutTo(dim, rest)) --rest;
    return Have(dim).subspan(rest);
  }

  AxisSet Unreduced() const { return now_.pending - goal_.pending; }

  bool Permute() {
    if (now_.pending != goal_.pending) return false;
    for (int64_t d = 0; d < rank(); ++d) {
      if (array_.SizeOf(Have(d)) != array_.SizeOf(Want(d))) return false;
    }
    return Do(MoveKind::kPermute, goal_);
  }

  bool Slice() {
    const AxisSet free = array_.usable - now_.InDims() - now_.pending;
    SplitState after = now_;
    for (int64_t d = 0; d < rank(); ++d) {
      if (IsReady(d)) Append(after.dims[d], Continuation(d, free));
    }
    return after != now_ && Do(MoveKind::kSlice, std::move(after));
  }

  bool ScatterSum() {
    for (int64_t d = 0; d < rank(); ++d) {
      if (!IsReady(d)) continue;
      const Atoms next = Continuation(d, Unreduced());
      if (next.empty()) continue;
      SplitState after = now_;
      Append(after.dims[d], next);
      after.pending = after.pending - AxisSet::Of(next);
      return Do(MoveKind::kScatterSum, std::move(after));
    }
    return false;
  }

  bool Sum() {
    if (Unreduced().empty()) return false;
    SplitState after = now_;
    after.pending = goal_.pending;
    return Do(MoveKind::kSum, std::move(after));
  }

  bool Exchange() {
    for (int64_t to = 0; to < rank(); ++to) {
      if (!IsReady(to)) continue;
      for (int64_t from = 0; from < rank(); ++from) {
        if (from != to && ExchangeBetween(from, to)) return true;
      }
    }
    return false;
  }

  // Moves as many atoms as possible that are together at the end of `from` and next in the ready dimension `to`.
  bool ExchangeBetween(int64_t from, int64_t to) {
    for (size_t rest = Kept(from); rest < Have(from).size(); ++rest) {
      const AxisSet moved = AxisSet::Of(Have(from).subspan(rest));
      const Atoms next = Continuation(to, moved);
      if (next.size() != Have(from).size() - rest || !CanCutTo(from, rest)) continue;
      SplitState after = now_;
      after.dims[from].resize(rest);
      Append(after.dims[to], next);
      return Do(MoveKind::kExchange, std::move(after));
    }
    return false;
  }

  // Some atoms can split a dimension only together. Brings them to the end of another dimension, from which one
  // exchange moves them.
  bool Collect() {
    for (const bool has_some : {true, false}) {
      for (int64_t to = 0; to < rank(); ++to) {
        const AxisSet block = AxisSet::Of(NextBlock(to));
        if (block.size() < 2 || !(AxisSet::Of(InTheWay(to)) - block).empty()) continue;
        for (int64_t host = 0; host < rank(); ++host) {
          const AxisSet there = AxisSet::Of(LeastRemovable(host));
          if (host == to || there.empty() == has_some || !(there - block).empty()) continue;
          if (CollectAt(host, block)) return true;
        }
      }
    }
    return false;
  }

  bool CollectAt(int64_t host, AxisSet block) {
    SplitState after = now_;
    const AxisSet free = block - now_.InDims() - now_.pending;
    for (const int atom : free.Atoms()) after.dims[host].push_back(static_cast<uint8_t>(atom));
    if (after != now_ && array_.Nests(host, Have(host), after.dims[host]))
      return Do(MoveKind::kSlice, std::move(after));
    for (int64_t from = 0; from < rank(); ++from) {
      const Atoms moved = LeastRemovable(from);
      if (from == host || moved.empty() || !(AxisSet::Of(moved) - block).empty()) continue;
      after = now_;
      after.dims[from].resize(Have(from).size() - moved.size());
      Append(after.dims[host], moved);
      if (array_.Nests(host, Have(host), after.dims[host])) return Do(MoveKind::kExchange, std::move(after));
    }
    return false;
  }

  // Moves the next atoms of a ready dimension together with the atoms behind them, which are then in the way.
  bool ExchangeWithFollowers() {
    for (int64_t to = 0; to < rank(); ++to) {
      if (!IsReady(to)) continue;
      for (int64_t from = 0; from < rank(); ++from) {
        if (from != to && ExchangeWithFollowersBetween(from, to)) return true;
      }
    }
    return false;
  }

  bool ExchangeWithFollowersBetween(int64_t from, int64_t to) {
    const Atoms next = Continuation(to, AxisSet::Of(InTheWay(from)));
    if (next.empty()) return false;
    const AxisSet moved = AxisSet::Of(next);
    const auto first = std::ranges::find_if(Have(from), [&](uint8_t atom) { return moved.Has(atom); });
    const size_t rest = first - Have(from).begin();
    SplitState after = now_;
    after.dims[from].resize(rest);
    Append(after.dims[to], next);
    for (const uint8_t atom : Have(from).subspan(rest)) {
      if (!moved.Has(atom)) after.dims[to].push_back(atom);
    }
    if (!CanCutTo(from, rest) || !array_.Nests(to, Have(to), after.dims[to])) return false;
    return Do(MoveKind::kExchange, std::move(after));
  }

  // Moves atoms to their final dimension although other atoms must come before them.
  bool ExchangeAhead() {
    for (int64_t from = 0; from < rank(); ++from) {
      const Atoms moved = LeastRemovable(from);
      if (moved.empty()) continue;
      for (int64_t to = 0; to < rank(); ++to) {
        if (to == from || !(AxisSet::Of(moved) - AxisSet::Of(Want(to))).empty()) continue;
        SplitState after = now_;
        after.dims[from].resize(Have(from).size() - moved.size());
        Append(after.dims[to], moved);
        if (array_.Nests(to, Have(to), after.dims[to])) return Do(MoveKind::kExchange, std::move(after));
      }
    }
    return false;
  }

  // Gathers along atoms that the final split does not have, if possible, and along as few devices as possible.
  bool Gather() {
    const AxisSet wanted = goal_.InDims();
    std::optional<std::tuple<bool, int64_t, int64_t>> best;  // Wanted, parts, dimension.
    for (int64_t d = 0; d < rank(); ++d) {
      const Atoms removed = LeastRemovable(d);
      if (removed.empty()) continue;
      const std::tuple candidate = {!(AxisSet::Of(removed) & wanted).empty(), array_.SizeOf(removed), d};
      if (!best || candidate < *best) best = candidate;
    }
    if (!best) return false;
    const int64_t dim = std::get<2>(*best);
    SplitState after = now_;
    after.dims[dim].resize(Have(dim).size() - LeastRemovable(dim).size());
    return Do(MoveKind::kGather, std::move(after));
  }

  const MeshArray& array_;
  SplitState now_;
  const SplitState& goal_;
  bool with_detours_;
  Route route_;
};

MoveKind Inverse(MoveKind kind) {
  switch (kind) {
    case MoveKind::kSlice: return MoveKind::kGather;
    case MoveKind::kGather: return MoveKind::kSlice;
    default: return kind;
  }
}

}  // namespace

AxisSet SplitState::InDims() const {
  AxisSet atoms;
  for (const AtomList& list : dims) atoms = atoms | AxisSet::Of(list);
  return atoms;
}

SplitState StateOf(const ArraySplit& split) {
  SplitState state = {{}, split.pending};
  for (int64_t d = 0; d < split.rank(); ++d) state.dims.emplace_back(split.AtomsOf(d).begin(), split.AtomsOf(d).end());
  return state;
}

ArraySplit SplitOf(const SplitState& state, const ArraySplit& like) {
  ArraySplit split(std::ssize(state.dims));
  for (int64_t d = 0; d < split.rank(); ++d)
    for (const uint8_t atom : state.dims[d]) split.Append(d, atom);
  split.pending = state.pending;
  if (!split.pending.empty()) split.reduction = like.reduction;
  split.manual = like.manual;
  return split;
}

int64_t MeshArray::SizeOf(std::span<const uint8_t> atoms) const { return SizeOf(AxisSet::Of(atoms)); }

int64_t MeshArray::SizeOf(AxisSet atoms) const {
  int64_t size = 1;
  for (const int atom : atoms.Atoms()) size *= atom_sizes[atom];
  return size;
}

bool MeshArray::Nests(int64_t dim, std::span<const uint8_t> coarse, std::span<const uint8_t> fine) const {
  const int64_t parts = SizeOf(coarse), more_parts = SizeOf(fine), size = whole.dim(dim);
  const int64_t local = LocalSize(size, parts);
  // If one part holds all elements, padding it changes no other part.
  return local >= size || local == more_parts / parts * LocalSize(size, more_parts);
}

Shape MeshArray::LocalShape(const SplitState& state) const {
  Shape local = whole;
  for (int64_t d = 0; d < whole.rank(); ++d) local.SetDim(d, LocalSize(whole.dim(d), SizeOf(state.dims[d])));
  return local;
}

std::optional<Route> FindRoute(const MeshArray& array, const SplitState& from, const SplitState& to,
                               bool with_detours) {
  return RouteSearch(array, from, to, with_detours).Run();
}

Route GatherAllRoute(const SplitState& from, const SplitState& to) {
  SplitState now = {from.dims, to.pending};
  Route route = {{MoveKind::kSum, now}};
  for (size_t d = now.dims.size(); d-- > 0;) {
    now.dims[d].clear();
    route.push_back({MoveKind::kGather, now});
  }
  route.push_back({MoveKind::kSlice, to});
  return route;
}

SplitState RelabelledNear(const MeshArray& array, const SplitState& from, const SplitState& to) {
  constexpr uint8_t kNone = 0xff;
  SplitState near = {{}, to.pending};
  AxisSet unused = array.usable - to.pending;
  const auto take = [&](uint8_t& place, uint8_t atom) {
    place = atom;
    unused.Remove(atom);
  };
  for (const AtomList& list : to.dims) near.dims.emplace_back(list.size(), kNone);
  // Calls fill(place, dimension, position) for the places without an atom.
  const auto for_empty = [&](auto&& fill) {
    for (size_t d = 0; d < near.dims.size(); ++d) {
      for (size_t i = 0; i < near.dims[d].size(); ++i)
        if (near.dims[d][i] == kNone) fill(near.dims[d][i], d, i);
    }
  };
  const auto fits = [&](int atom, size_t d, size_t i) {
    return unused.Has(atom) && array.atom_sizes[atom] == array.atom_sizes[to.dims[d][i]];
  };
  for_empty([&](uint8_t& place, size_t d, size_t i) {
    if (i < from.dims[d].size() && fits(from.dims[d][i], d, i)) take(place, from.dims[d][i]);
  });
  for_empty([&](uint8_t& place, size_t d, size_t i) {
    if (unused.Has(to.dims[d][i])) take(place, to.dims[d][i]);
  });
  // Free atoms need only a slice.
  for (const AxisSet candidates : {unused - from.InDims() - from.pending, unused}) {
    for_empty([&](uint8_t& place, size_t d, size_t i) {
      const auto atoms = (candidates & unused).Atoms();
      const auto atom = std::ranges::find_if(atoms, [&](int candidate) { return fits(candidate, d, i); });
      if (atom != atoms.end()) take(place, static_cast<uint8_t>(*atom));
    });
  }
  return near;
}

SplitState RefinedBy(const MeshArray& array, const SplitState& split, const SplitState& other) {
  const AxisSet free = other.InDims() - split.InDims() - split.pending;
  SplitState refined = split;
  for (size_t d = 0; d < split.dims.size(); ++d) {
    AtomList atoms = split.dims[d];
    std::ranges::copy_if(other.dims[d], std::back_inserter(atoms), [&](uint8_t atom) { return free.Has(atom); });
    if (array.Nests(static_cast<int64_t>(d), split.dims[d], atoms)) refined.dims[d] = std::move(atoms);
  }
  return refined;
}

Route Reversed(const SplitState& from, const Route& route) {
  Route reversed;
  for (size_t i = route.size(); i-- > 0;)
    reversed.push_back({Inverse(route[i].kind), i == 0 ? from : route[i - 1].after});
  return reversed;
}

}  // namespace hlo
