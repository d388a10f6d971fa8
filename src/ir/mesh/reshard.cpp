#include "ir/mesh/reshard.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "ir/attrs.h"
#include "ir/mesh/prime_atoms.h"
#include "ir/mesh/reshard_search.h"

namespace hlo {
namespace {

// Below this size of operand and result, one all-gather or reduce-scatter along several dimensions and a local
// transpose are faster than a collective for each dimension.
constexpr int64_t kMostJointBytes = 1 << 20;

// ---- Changes of dimensions ------------------------------------------------------------------------------------------

// The atoms at the ends of the dimensions of `longer` that the dimensions of `shorter` do not begin with.
std::vector<DimAtoms> AtomsBeyond(const std::vector<AtomList>& shorter, const std::vector<AtomList>& longer) {
  std::vector<DimAtoms> beyond;
  for (size_t d = 0; d < longer.size(); ++d) {
    const auto end = std::ranges::mismatch(longer[d], shorter[d]).in1;
    if (end != longer[d].end()) beyond.push_back({static_cast<int64_t>(d), {end, longer[d].end()}});
  }
  return beyond;
}

std::vector<int64_t> DimsOf(const std::vector<DimAtoms>& changes) {
  std::vector<int64_t> dims;
  for (const DimAtoms& change : changes) dims.push_back(change.dim);
  return dims;
}

// The place of each atom: its dimension, and the number of parts by the atoms after it. {-1, 0} if it splits no
// dimension.
std::vector<std::pair<int64_t, int64_t>> PlacesOf(const MeshArray& array, const SplitState& state) {
  std::vector<std::pair<int64_t, int64_t>> places(array.atom_sizes.size(), {-1, 0});
  for (size_t d = 0; d < state.dims.size(); ++d) {
    int64_t parts_below = 1;
    for (size_t i = state.dims[d].size(); i-- > 0;) {
      const uint8_t atom = state.dims[d][i];
      places[atom] = {static_cast<int64_t>(d), parts_below};
      parts_below *= array.atom_sizes[atom];
    }
  }
  return places;
}

AxisSet AtomsOf(const MeshArray& array, MoveKind kind, const SplitState& before, const SplitState& after) {
  if (kind == MoveKind::kSum) return before.pending - after.pending;
  AxisSet atoms;
  if (kind == MoveKind::kPermute) {
    const auto from = PlacesOf(array, before), to = PlacesOf(array, after);
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] != to[i]) atoms.Add(static_cast<int>(i));
    return atoms;
  }
  for (const auto& changes : {AtomsBeyond(after.dims, before.dims), AtomsBeyond(before.dims, after.dims)})
    for (const DimAtoms& change : changes) atoms = atoms | AxisSet::Of(change.atoms);
  return atoms;
}

// ---- Cost -----------------------------------------------------------------------------------------------------------

struct MoveBytes {
  int64_t result = 0, arriving = 0;
};

MoveBytes BytesOf(const MeshArray& array, MoveKind kind, const SplitState& before, const SplitState& after) {
  const int64_t members = array.SizeOf(AtomsOf(array, kind, before, after));
  const Shape local_before = array.LocalShape(before), local_after = array.LocalShape(after);
  // The block that one member of a group sends to another one.
  Shape block = local_before;
  for (int64_t d = 0; d < block.rank(); ++d) block.SetDim(d, std::min(local_before.dim(d), local_after.dim(d)));
  const int64_t bytes = block.ByteSize();
  switch (kind) {
    case MoveKind::kSlice: return {};
    case MoveKind::kPermute: return {bytes, bytes};
    case MoveKind::kExchange:
    case MoveKind::kGather: return {bytes * members, bytes * (members - 1)};
    case MoveKind::kScatterSum: return {bytes, bytes * (members - 1)};
    case MoveKind::kSum: return {bytes, (2 * bytes * (members - 1) + members - 1) / members};
  }
  return {};
}

struct RouteCost {
  int64_t arriving_bytes = 0, collectives = 0;
  bool divides_atoms = false;
  int64_t moves = 0;
  auto operator<=>(const RouteCost&) const = default;
};

RouteCost CostOf(const MeshArray& array, const SplitState& from, const Route& route) {
  RouteCost cost;
  const SplitState* before = &from;
  for (const auto& [kind, after] : route) {
    cost.arriving_bytes += BytesOf(array, kind, *before, after).arriving;
    cost.collectives += kind != MoveKind::kSlice;
    ++cost.moves;
    before = &after;
  }
  return cost;
}

// ---- Joining moves of one kind --------------------------------------------------------------------------------------

// Whether one collective can do two successive moves of one kind.
bool AreOneMove(const MeshArray& array, MoveKind kind, const SplitState& before, const SplitState& between,
                const SplitState& after) {
  const auto removed = DimsOf(AtomsBeyond(between.dims, before.dims));
  const auto removed_next = DimsOf(AtomsBeyond(after.dims, between.dims));
  const auto added = DimsOf(AtomsBeyond(before.dims, between.dims));
  const auto added_next = DimsOf(AtomsBeyond(between.dims, after.dims));
  const bool same_dims = removed == removed_next && added == added_next;
  switch (kind) {
    case MoveKind::kSlice:
    case MoveKind::kPermute:
    case MoveKind::kSum: return true;
    case MoveKind::kGather: return same_dims || array.LocalShape(after).ByteSize() < kMostJointBytes;
    case MoveKind::kScatterSum: return same_dims || array.LocalShape(before).ByteSize() < kMostJointBytes;
    case MoveKind::kExchange: return same_dims;
  }
  return false;
}

Route PerDimension(const SplitState& before, const ReshardStep& step) {
  if (step.kind != MoveKind::kGather) return {step};
  Route steps;
  SplitState now = before;
  for (size_t d = now.dims.size(); d-- > 0;) {
    now.dims[d] = step.after.dims[d];
    steps.push_back({MoveKind::kGather, now});
  }
  return steps;
}

// Drops moves that change nothing, and joins successive moves that are one collective.
Route Joined(const MeshArray& array, const SplitState& from, const Route& route) {
  Route joined;
  SplitState before_last = from, last = from;
  for (const ReshardStep& whole_step : route) {
    for (ReshardStep& step : PerDimension(last, whole_step)) {
      if (step.after == last) continue;
      const bool joins = !joined.empty() && joined.back().kind == step.kind &&
                         AreOneMove(array, step.kind, before_last, last, step.after);
      if (!joins) before_last = last;
      last = step.after;
      if (joins) joined.back().after = std::move(step.after);
      else joined.push_back(std::move(step));
    }
  }
  return joined;
}

// ---- The choice of a route ------------------------------------------------------------------------------------------

class RouteChoice {
 public:
  RouteChoice(const MeshArray& array, const PrimeAtoms& primes, const ArraySplit& like, int64_t most_moves)
      : array_(array), primes_(primes), like_(like), most_moves_(most_moves) {}

  Route Best(const SplitState& from, const SplitState& to) const {
    std::vector<Route> routes = {GatherAllRoute(from, to)};
    for (Route& route : Forward(from, to)) {
      if (from.pending != to.pending) routes.push_back(WithBestEnd(from, to, route));
      routes.push_back(std::move(route));
    }
    if (from.pending == to.pending) {
      for (const Route& route : Forward(to, from)) routes.push_back(Reversed(to, route));
    }
    return Cheapest(from, routes);
  }

 private:
  static std::vector<SplitState> Distinct(const SplitState& first, const SplitState& second) {
    return first == second ? std::vector{first} : std::vector{first, second};
  }

  // Routes by the rules of FindRoute between the splits, and between finer splits from which gathers and permutes lead
  // to the final one. Collectives between finer splits move fewer bytes.
  std::vector<Route> Forward(const SplitState& from, const SplitState& to) const {
    std::vector<Route> routes;
    for (const SplitState& start : Distinct(from, RefinedBy(array_, from, to))) {
      for (const SplitState& end : Distinct(to, RefinedBy(array_, to, from))) {
        for (const SplitState& goal : Distinct(end, RelabelledNear(array_, start, end))) {
          for (const bool with_detours : {false, true}) {
            const auto middle = FindRoute(array_, start, goal, with_detours);
            if (!middle) continue;
            Route& route = routes.emplace_back(Route{{MoveKind::kSlice, start}});
            std::ranges::copy(*middle, std::back_inserter(route));
            route.push_back({MoveKind::kPermute, end});
            route.push_back({MoveKind::kGather, to});
          }
        }
      }
    }
    return routes;
  }

  // The route up to the last reduction, and the best route from there.
  Route WithBestEnd(const SplitState& from, const SplitState& to, const Route& route) const {
    const auto reduced =
        std::ranges::find(route, to.pending, [](const ReshardStep& step) { return step.after.pending; });
    Route result(route.begin(), reduced + 1);
    for (ReshardStep& step : Best(reduced->after, to)) result.push_back(std::move(step));
    return result;
  }

  // The first route if the others have too many moves.
  Route Cheapest(const SplitState& from, std::span<const Route> routes) const {
    Route best;
    std::optional<RouteCost> least;
    for (const Route& route : routes) {
      Route joined = Joined(array_, from, route);
      if (least && std::ssize(joined) > most_moves_) continue;
      RouteCost cost = CostOf(array_, from, joined);
      cost.divides_atoms = DividesAtoms(joined);
      if (least && *least <= cost) continue;
      least = cost;
      best = std::move(joined);
    }
    return best;
  }

  bool DividesAtoms(const Route& route) const {
    return std::ranges::any_of(route,
                               [&](const ReshardStep& step) { return !primes_.Coarsen(SplitOf(step.after, like_)); });
  }

  const MeshArray& array_;
  const PrimeAtoms& primes_;
  const ArraySplit& like_;
  int64_t most_moves_;
};

// ---- The plan of a route --------------------------------------------------------------------------------------------

MeshArray ArrayOn(std::vector<int64_t> atom_sizes, const Shape& shape, AxisSet manual) {
  const AxisSet all = AxisSet::First(static_cast<int>(atom_sizes.size()));
  return {shape, std::move(atom_sizes), all - manual};
}

std::vector<int64_t> AtomSizes(const Axes& axes) {
  std::vector<int64_t> sizes;
  for (const Atom& atom : axes.atoms()) sizes.push_back(atom.size);
  return sizes;
}

// `splits` are the first split and the splits after each step.
ReshardPlan PlanOf(const MeshArray& array, std::span<const ArraySplit> splits, const Route& route) {
  ReshardPlan plan;
  for (size_t i = 0; i < route.size(); ++i) {
    const SplitState before = StateOf(splits[i]), after = StateOf(splits[i + 1]);
    const MoveBytes bytes = BytesOf(array, route[i].kind, before, after);
    plan.moves.push_back({.kind = route[i].kind,
                          .atoms = AtomsOf(array, route[i].kind, before, after),
                          .before = splits[i],
                          .after = splits[i + 1],
                          .local_before = array.LocalShape(before),
                          .local_after = array.LocalShape(after),
                          .result_bytes = bytes.result,
                          .arriving_bytes = bytes.arriving});
  }
  const auto is_whole = [](const ArraySplit& split) { return split.InDims().empty(); };
  plan.gathers_whole = !is_whole(splits.front()) && !is_whole(splits.back()) && std::ranges::any_of(splits, is_whole);
  return plan;
}

// The plan, with parts of atoms only if a move needs them.
ReshardPlan PlanOf(const Route& route, const PrimeAtoms& primes, const ArraySplit& from, const Shape& shape,
                   const Axes& axes) {
  const ArraySplit prime_from = primes.Refine(from);
  std::vector<ArraySplit> splits = {prime_from};
  for (const ReshardStep& step : route) splits.push_back(SplitOf(step.after, prime_from));
  std::optional<Axes> finer_axes = primes.CutAxes(axes, splits);
  const Axes& move_axes = finer_axes ? *finer_axes : axes;
  const PrimeAtoms move_primes(move_axes, primes.sizes());
  for (ArraySplit& split : splits) split = *move_primes.Coarsen(split);
  ReshardPlan plan = PlanOf(ArrayOn(AtomSizes(move_axes), shape, splits[0].manual), splits, route);
  plan.finer_axes = std::move(finer_axes);
  return plan;
}

Status CheckExpressible(const ArraySplit& from, const ArraySplit& to, const Axes& axes) {
  const auto misfit = [&](std::string_view why) {
    return Unsupported("U044",
                       Str("no collectives change the split ", axes.Text(from), " to ", axes.Text(to), ": ", why));
  };
  if (from.only_device != to.only_device) FAIL(misfit("a single device holds the array"));
  if (from.manual != to.manual) FAIL(misfit("the manual axes differ"));
  if (!(to.pending - from.pending).empty()) FAIL(misfit("the array would become unreduced"));
  if (!to.pending.empty() && from.reduction != to.reduction) FAIL(misfit("the reductions differ"));
  return {};
}

// ---- Text -----------------------------------------------------------------------------------------------------------

std::string NameOf(const Move& move) {
  switch (move.kind) {
    case MoveKind::kSlice: return "slice";
    case MoveKind::kPermute: return "permute";
    case MoveKind::kExchange: return "exchange";
    case MoveKind::kGather: return "gather";
    case MoveKind::kScatterSum: return Str("scatter_", ToString(move.before.reduction));
    case MoveKind::kSum: return Str(ToString(move.before.reduction));
  }
  return "";
}

std::string NamesOf(const std::vector<Atom>& mesh, std::span<const uint8_t> atoms) {
  std::vector<std::string_view> names;
  for (const uint8_t atom : atoms) names.push_back(mesh[atom].name);
  return Str("{", Join(names, ", "), "}");
}

// The dimensions and atoms of a move: "2 -> 1: {x}", "0: {x}, 1: {y}" or "{x, y}".
std::string PlacesText(const std::vector<Atom>& mesh, const Move& move) {
  const auto removed = move.Removed(), added = move.Added();
  if (move.kind == MoveKind::kExchange)
    return Str(removed[0].dim, " -> ", added[0].dim, ": ", NamesOf(mesh, added[0].atoms));
  std::vector<std::string> texts;
  for (const auto& [dim, atoms] : removed.empty() ? added : removed)
    texts.push_back(Str(dim, ": ", NamesOf(mesh, atoms)));
  if (!texts.empty()) return Join(texts, ", ");
  const std::vector<int> atoms = move.atoms.Atoms();
  return NamesOf(mesh, AtomList(atoms.begin(), atoms.end()));
}

}  // namespace

std::vector<DimAtoms> Move::Removed() const {
  if (kind == MoveKind::kPermute) return {};
  return AtomsBeyond(StateOf(after).dims, StateOf(before).dims);
}

std::vector<DimAtoms> Move::Added() const {
  if (kind == MoveKind::kPermute) return {};
  return AtomsBeyond(StateOf(before).dims, StateOf(after).dims);
}

int64_t ReshardPlan::Collectives() const {
  return std::ranges::count_if(moves, [](const Move& move) { return move.kind != MoveKind::kSlice; });
}

int64_t ReshardPlan::ArrivingBytes() const {
  int64_t bytes = 0;
  for (const Move& move : moves) bytes += move.arriving_bytes;
  return bytes;
}

int64_t ReshardPlan::ArrayBytes() const {
  int64_t bytes = 0;
  for (const Move& move : moves) {
    if (move.kind != MoveKind::kSlice) bytes += std::max(move.result_bytes, move.local_before.ByteSize());
  }
  return bytes;
}

std::string ReshardPlan::Text(const Axes& axes) const {
  if (moves.empty()) return "none";
  const std::vector<Atom>& mesh = (finer_axes ? *finer_axes : axes).atoms();
  std::vector<std::string> texts;
  for (const Move& move : moves) {
    std::string& text = texts.emplace_back(Str(NameOf(move), "(", PlacesText(mesh, move), ")"));
    if (move.kind != MoveKind::kSlice) text += Str(" ", move.result_bytes, " B");
  }
  return Str(Join(texts, "; "), gathers_whole ? "; whole" : "");
}

Result<ReshardPlan> PlanReshard(const ArraySplit& from, const ArraySplit& to, const Shape& shape, const Axes& axes) {
  CHECK(from.rank() == shape.rank() && to.rank() == shape.rank(), "splits for another rank than ", shape);
  TRY(CheckExpressible(from, to, axes));
  if (from == to) return ReshardPlan();
  const PrimeAtoms primes(axes);
  const ArraySplit fine_from = primes.Refine(from);
  const MeshArray array = ArrayOn(primes.sizes(), shape, fine_from.manual);
  const RouteChoice choice(array, primes, fine_from, 2 * std::ssize(axes.atoms()) + 1);
  const Route route = choice.Best(StateOf(fine_from), StateOf(primes.Refine(to)));
  return PlanOf(route, primes, from, shape, axes);
}

}  // namespace hlo
