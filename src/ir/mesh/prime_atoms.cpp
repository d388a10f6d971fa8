#include "ir/mesh/prime_atoms.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace hlo {
namespace {

std::vector<int64_t> PrimeFactors(int64_t value) {
  std::vector<int64_t> factors;
  for (int64_t prime = 2; value > 1; ++prime) {
    if (prime * prime > value) prime = value;
    for (; value % prime == 0; value /= prime) factors.push_back(prime);
  }
  return factors;
}

// Whether the product of the primes before or behind a place is the size of another atom.
bool IsCut(std::span<const int64_t> primes, size_t place, size_t own, const std::vector<Atom>& atoms) {
  int64_t major = 1, minor = 1;
  for (size_t i = 0; i < primes.size(); ++i) (i < place ? major : minor) *= primes[i];
  for (size_t i = 0; i < atoms.size(); ++i) {
    if (i != own && (atoms[i].size == major || atoms[i].size == minor)) return true;
  }
  return false;
}

// The axis of an atom, and the size of the axis before it: {x, 2} for x:(2)4, {x, 1} for x.
std::pair<std::string_view, int64_t> AxisOfName(std::string_view name) {
  const size_t at = name.find(":(");
  int64_t before = 1;
  if (at == std::string_view::npos) return {name, before};
  const std::string_view digits = name.substr(at + 2);
  ParseInt(digits.substr(0, digits.find(')')), &before);
  return {name.substr(0, at), before};
}

// Whether `minor` directly follows `major` everywhere in a split.
bool AreTogether(const ArraySplit& split, int major, int minor) {
  for (const AxisSet atoms : {split.InDims(), split.pending, split.manual}) {
    if (atoms.Has(major) != atoms.Has(minor)) return false;
  }
  for (int64_t d = 0; d < split.rank(); ++d) {
    const auto atoms = split.AtomsOf(d);
    const auto at = std::ranges::find(atoms, major);
    if (at != atoms.end()) return at + 1 != atoms.end() && at[1] == minor;
  }
  return true;
}

}  // namespace

PrimeAtoms::PrimeAtoms(const Axes& axes) {
  constexpr size_t kMostPrimes = 8;
  std::vector<std::vector<int64_t>> primes;
  size_t count = 0;
  for (const Atom& atom : axes.atoms()) count += primes.emplace_back(PrimeFactors(atom.size)).size();
  for (size_t i = 0; i < primes.size(); ++i) {
    first_.push_back(static_cast<int>(sizes_.size()));
    for (size_t place = 0; place < primes[i].size(); ++place) {
      const bool cuts = place == 0 || count <= kMostPrimes || IsCut(primes[i], place, i, axes.atoms());
      if (cuts) sizes_.push_back(primes[i][place]);
      else sizes_.back() *= primes[i][place];
    }
  }
  first_.push_back(static_cast<int>(sizes_.size()));
}

PrimeAtoms::PrimeAtoms(const Axes& axes, std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {
  size_t next = 0;
  for (const Atom& atom : axes.atoms()) {
    first_.push_back(static_cast<int>(next));
    for (int64_t rest = atom.size; rest > 1; ++next) rest /= sizes_[next];
  }
  first_.push_back(static_cast<int>(next));
}

AxisSet PrimeAtoms::Refine(AxisSet atoms) const {
  AxisSet refined;
  for (const int atom : atoms.Atoms())
    refined = refined | (AxisSet::First(first_[atom + 1]) - AxisSet::First(first_[atom]));
  return refined;
}

ArraySplit PrimeAtoms::Refine(const ArraySplit& split) const {
  ArraySplit refined(split.rank());
  for (int64_t d = 0; d < split.rank(); ++d) {
    for (const uint8_t atom : split.AtomsOf(d))
      for (int prime = first_[atom]; prime < first_[atom + 1]; ++prime) refined.Append(d, prime);
  }
  refined.pending = Refine(split.pending);
  refined.manual = Refine(split.manual);
  refined.reduction = split.reduction;
  refined.only_device = split.only_device;
  return refined;
}

std::optional<AxisSet> PrimeAtoms::Coarsen(AxisSet atoms) const {
  AxisSet coarse;
  for (int atom = 0; atom + 1 < std::ssize(first_); ++atom)
    if (atoms.Has(first_[atom])) coarse.Add(atom);
  if (Refine(coarse) != atoms) return std::nullopt;
  return coarse;
}

std::optional<ArraySplit> PrimeAtoms::Coarsen(const ArraySplit& split) const {
  const auto pending = Coarsen(split.pending), manual = Coarsen(split.manual);
  if (!pending || !manual) return std::nullopt;
  ArraySplit coarse(split.rank());
  for (int64_t d = 0; d < split.rank(); ++d) {
    for (const uint8_t prime : split.AtomsOf(d)) {
      const auto atom = std::ranges::find(first_, prime);
      if (atom != first_.end()) coarse.Append(d, static_cast<int>(atom - first_.begin()));
    }
  }
  coarse.pending = *pending;
  coarse.manual = *manual;
  coarse.reduction = split.reduction;
  coarse.only_device = split.only_device;
  if (Refine(coarse) != split) return std::nullopt;
  return coarse;
}

std::optional<Axes> PrimeAtoms::CutAxes(const Axes& axes, std::span<const ArraySplit> splits) const {
  Axes cut = axes;
  cut.atoms_.clear();
  for (size_t i = 0; i < axes.atoms().size(); ++i) {
    const Atom& atom = axes.atoms()[i];
    std::vector<int64_t> sizes;
    for (int prime = first_[i]; prime < first_[i + 1]; ++prime) {
      const bool joins = prime > first_[i] && std::ranges::all_of(splits, [&](const ArraySplit& split) {
                           return AreTogether(split, prime - 1, prime);
                         });
      if (joins) sizes.back() *= sizes_[prime];
      else sizes.push_back(sizes_[prime]);
    }
    if (sizes.size() == 1) {
      cut.atoms_.push_back(atom);
      continue;
    }
    auto [axis, before] = AxisOfName(atom.name);
    int64_t stride = atom.stride * atom.size;
    for (const int64_t size : sizes) {
      stride /= size;
      cut.atoms_.push_back({size, stride, Str(axis, ":(", before, ")", size)});
      before *= size;
    }
  }
  if (cut.atoms_.size() == axes.atoms().size()) return std::nullopt;
  return cut;
}

}  // namespace hlo
