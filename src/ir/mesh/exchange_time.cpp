#include "ir/mesh/exchange_time.h"

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "ir/instruction.h"

namespace hlo {
namespace {

// `o` of the model.
constexpr double kMessageSeconds = 0.5e-6;

std::string_view ToString(ExchangeAlgorithm algorithm) {
  constexpr std::string_view kWords[] = {"ring", "direct", "tree"};
  return kWords[static_cast<int>(algorithm)];
}

// Whether each level of a hierarchy sends the whole array.
bool KeepsBytes(ExchangeKind kind) { return kind == ExchangeKind::kBroadcast || kind == ExchangeKind::kReduce; }

ExchangePhase FastestPhase(ExchangeKind kind, double bytes, int64_t members, const TopologyLevel& level) {
  std::optional<ExchangePhase> best;
  for (const auto algorithm : {ExchangeAlgorithm::kRing, ExchangeAlgorithm::kDirect, ExchangeAlgorithm::kTree}) {
    const auto phase = PhaseOf(algorithm, kind, bytes, members, level);
    if (phase && (!best || phase->Seconds(level) < best->Seconds(level))) best = phase;
  }
  return *best;
}

// One phase on each level that has members.
ExchangeTime Hierarchical(ExchangeKind kind, double bytes, std::span<const int64_t> members, size_t outermost,
                          const Topology& topology) {
  ExchangeTime time = {.algorithm = "", .received = std::vector<double>(members.size())};
  for (size_t i = 0; i <= outermost; ++i) {
    if (members[i] == 1) continue;
    const bool is_split = kind == ExchangeKind::kAllReduce && i < outermost;
    const ExchangePhase phase =
        FastestPhase(is_split ? ExchangeKind::kReduceScatter : kind, bytes, members[i], topology.levels[i]);
    const double times = is_split ? 2 : 1;
    time.seconds += times * phase.Seconds(topology.levels[i]);
    time.received[i] = times * phase.received;
    time.algorithm += Str(ToString(phase.algorithm), i == outermost ? "" : "/");
    if (!KeepsBytes(kind)) bytes /= static_cast<double>(members[i]);
  }
  return time;
}

ExchangeTime AllToAll(double bytes, std::span<const int64_t> members, size_t outermost, const Topology& topology) {
  ExchangeTime time = {.algorithm = "direct", .received = std::vector<double>(members.size())};
  double all = 1, within = 1, longest = 0;
  for (const int64_t count : members) all *= static_cast<double>(count);
  for (size_t i = 0; i <= outermost; ++i) {
    const double reached = within * static_cast<double>(members[i]);
    time.received[i] = (reached - within) / all * bytes;
    longest = std::max(longest, time.received[i] / topology.levels[i].bytes_per_second);
    within = reached;
  }
  time.seconds = topology.levels[outermost].latency_seconds + (all - 1) * kMessageSeconds + longest;
  return time;
}

}  // namespace

std::optional<ExchangePhase> PhaseOf(ExchangeAlgorithm algorithm, ExchangeKind kind, double bytes, int64_t members,
                                     const TopologyLevel& level) {
  const bool is_tree = algorithm == ExchangeAlgorithm::kTree;
  const bool is_all_reduce = kind == ExchangeKind::kAllReduce;
  if (is_tree != KeepsBytes(kind) && !(is_tree && is_all_reduce)) return std::nullopt;
  const auto others = static_cast<double>(members - 1);
  double latency = level.latency_seconds;
  switch (algorithm) {
    case ExchangeAlgorithm::kRing: latency *= others; break;
    case ExchangeAlgorithm::kDirect: latency += others * kMessageSeconds; break;
    case ExchangeAlgorithm::kTree: latency *= std::bit_width(static_cast<uint64_t>(members - 1)); break;
  }
  const double received = is_tree ? bytes : bytes * others / static_cast<double>(members);
  const double times = is_all_reduce ? 2 : 1;
  return ExchangePhase{algorithm, times * latency, times * received};
}

ExchangeTime TimeOfExchange(ExchangeKind kind, double bytes, std::span<const int64_t> members,
                            const Topology& topology) {
  size_t outermost = members.size();
  int64_t all = 1, levels = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] == 1) continue;
    outermost = i;
    all *= members[i];
    ++levels;
  }
  if (levels == 0) return {.algorithm = "none", .received = std::vector<double>(members.size())};
  if (kind == ExchangeKind::kAllToAll) return AllToAll(bytes, members, outermost, topology);
  const TopologyLevel& level = topology.levels[outermost];
  const ExchangePhase phase = kind == ExchangeKind::kPermute
                                  ? ExchangePhase{ExchangeAlgorithm::kDirect, level.latency_seconds, bytes}
                                  : FastestPhase(kind, bytes, all, level);
  ExchangeTime flat = {std::string(ToString(phase.algorithm)), phase.Seconds(level),
                       std::vector<double>(members.size())};
  flat.received[outermost] = phase.received;
  if (levels == 1 || kind == ExchangeKind::kPermute) return flat;
  ExchangeTime nested = Hierarchical(kind, bytes, members, outermost, topology);
  return nested.seconds < flat.seconds ? nested : flat;
}

std::optional<Exchange> ExchangeOf(const Instruction& inst) {
  ExchangeKind kind;
  switch (inst.opcode()) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart: kind = ExchangeKind::kAllGather; break;
    case Opcode::kReduceScatter: kind = ExchangeKind::kReduceScatter; break;
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart: kind = ExchangeKind::kAllReduce; break;
    case Opcode::kAllToAll:
    case Opcode::kRaggedAllToAll: kind = ExchangeKind::kAllToAll; break;
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart: kind = ExchangeKind::kPermute; break;
    case Opcode::kCollectiveBroadcast: kind = ExchangeKind::kBroadcast; break;
    case Opcode::kCollectiveReduce: kind = ExchangeKind::kReduce; break;
    default: return std::nullopt;
  }
  // The result of an all-gather-start and a collective-permute-start is the tuple (operands, results, ...).
  const bool has_operands = inst.Is(Opcode::kAllGatherStart) || inst.Is(Opcode::kCollectivePermuteStart);
  const bool is_pair = has_operands && inst.shape().IsTuple() && inst.shape().elements().size() > 1;
  const int64_t received = (is_pair ? inst.shape().element(1) : inst.shape()).ByteSize();
  Exchange exchange = {kind, received, static_cast<double>(received), ExchangeGroupsOf(inst)};
  if (kind == ExchangeKind::kReduceScatter) exchange.bytes *= static_cast<double>(exchange.groups.Members());
  return exchange;
}

}  // namespace hlo
