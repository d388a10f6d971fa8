#include "judge/reach/reach_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "interp/arguments/arguments.h"
#include "ir/module.h"
#include "judge/reach/argument_solver.h"

namespace hlo {
namespace {

constexpr int kMostTries = 4;
constexpr int64_t kMostElements = 64;
constexpr int64_t kLeastTries = 3;  // Runs that most_steps does not limit.

class Search {
 public:
  Search(const Module& module, const ReachSearchOptions& options, Reach& reach)
      : module_(module), options_(options), reach_(reach), solver_(module) {}

  std::vector<ReachingSet> Run(Recording own) {
    bases_.push_back(std::move(own));
    SolveAll();
    for (const ArgumentOptions& made_up : Profiles()) {
      if (IsDone()) break;
      if (const auto args = MakeArguments(module_, made_up)) TryOut(*args);
    }
    SolveAll();  // For sites that have run for the first time.
    return std::move(sets_);
  }

 private:
  using Side = std::pair<const Site*, int>;

  bool IsDone() const {
    if (reach_.Missing() == 0 || std::ssize(sets_) >= options_.most_sets || runs_ >= options_.most_runs) return true;
    const int64_t tries = runs_ - 1;
    return options_.most_steps > 0 && tries >= kLeastTries && tries * bases_[0].steps >= options_.most_steps;
  }

  std::vector<ArgumentOptions> Profiles() const {
    const auto in = [&](double low, double high) {
      return ArgumentOptions{.seed = options_.seed + 11, .range = std::pair(low, high)};
    };
    std::vector<ArgumentOptions> profiles = {{.seed = options_.seed + 12, .profile = InputProfile::kEdge},
                                             {.seed = options_.seed + 13, .profile = InputProfile::kTies},
                                             {.seed = options_.seed + 14, .profile = InputProfile::kSpecial},
                                             in(-100, 100),
                                             {.seed = options_.seed + 15, .profile = InputProfile::kExact},
                                             in(0, 1000),
                                             {.seed = options_.seed + 16, .profile = InputProfile::kWide}};
    for (uint64_t more = 0; more < 16; ++more) profiles.push_back({.seed = options_.seed + 20 + more});
    return profiles;
  }

  // Solves for all missing sides, each at most kMostTries times. Sides that need NaNs or infinities come second,
  // because these spread to other values.
  void SolveAll() {
    for (const bool finite : {true, false}) {
      for (size_t base = 0; base < bases_.size(); ++base) {
        while (!IsDone() && SolveFrom(base, finite)) {
        }
      }
    }
  }

  bool SolveFrom(size_t base, bool finite) {
    Changes changes;
    for (const Site& site : reach_.sites()) {
      for (int side = 0; side < site.sides; ++side) {
        if ((site.missing() >> side & 1) == 0) continue;
        int& tries = tries_[{site.inst->id(), site.kind, site.part, side, finite}];
        if (tries >= kMostTries || solver_.all_steps() > options_.most_solver_steps) continue;
        Changes more = changes;
        if (!Solve(bases_[base], site, side, tries, more)) continue;
        const bool is_finite =
            std::ranges::all_of(more, [](const auto& change) { return std::isfinite(change.second); });
        if (finite && !is_finite) continue;
        ++tries;
        changes = std::move(more);
      }
    }
    if (changes.empty()) return false;
    std::vector<Literal> args = bases_[base].args;
    for (const auto& [at, value] : changes) {
      Literal* leaf = &args[at.parameter];
      for (const int64_t i : at.leaf) leaf = &leaf->mutable_elements()[i];
      if (IsFloat(leaf->shape().type())) leaf->SetDouble(at.element, value);
      else leaf->SetInt(at.element, static_cast<int64_t>(value));
    }
    TryOut(args);
    return true;
  }

  bool Solve(const Recording& base, const Site& site, int side, int tries, Changes& changes) {
    constexpr int64_t kMostSolved = 4;
    const std::vector<int64_t> elements = Reach::ElementsOf(site, kMostElements);
    const auto count = std::ssize(elements);
    const uint64_t mixed = (options_.seed + static_cast<uint64_t>(site.inst->id()) * 31 + side) * 0x9E3779B97F4A7C15;
    const auto first = static_cast<int64_t>((mixed >> 33) % static_cast<uint64_t>(std::max<int64_t>(count, 1)));
    for (int64_t i = 0; i < std::min(count, kMostSolved); ++i) {
      const int64_t element = elements[(first + tries * kMostSolved + i) % count];
      const size_t before = changes.size();
      if (solver_.ReachSide(base, reach_.dependence(), site, side, element, changes, tries % 2 == 1) &&
          changes.size() > before)
        return true;
    }
    return false;
  }

  void TryOut(const std::vector<Literal>& args) {
    constexpr size_t kMostBases = 4;
    const int64_t missing = reach_.Missing();
    ++runs_;
    auto recording = reach_.Run(args, options_.interpret);
    if (!recording || reach_.Missing() >= missing) return;
    sets_.push_back({args, recording->result});
    if (bases_.size() < kMostBases) bases_.push_back(std::move(*recording));
  }

  const Module& module_;
  const ReachSearchOptions& options_;
  Reach& reach_;
  ArgumentSolver solver_;
  int64_t runs_ = 1;  // Includes the initial run.
  std::vector<Recording> bases_;
  std::vector<ReachingSet> sets_;
  std::map<std::tuple<int, SiteKind, int64_t, int, bool>, int> tries_;
};

}  // namespace

std::vector<ReachingSet> ArgumentsThatReach(const Module& module, Recording own, const ReachSearchOptions& options,
                                            Reach& reach) {
  return Search(module, options, reach).Run(std::move(own));
}

}  // namespace hlo
