// Rules of collectives. Meaning of the ids: docs/language.md#replica-groups.
#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "ir/device_groups.h"
#include "ir/shapes/shape_checks.h"
#include "ir/verifier/checks.h"

namespace hlo {
namespace {

struct Groups {
  std::span<const std::vector<int64_t>> listed;  // Empty unless spelled like {{0,1},{2,3}}.
  int64_t count = 0, size = 0;                   // `size` is the size of the first group.
};

Groups GroupsOf(const ReplicaGroups& value) {
  if (const auto* iota = std::get_if<IotaGroups>(&value.groups)) return {{}, iota->count, iota->size};
  if (const auto* along = std::get_if<MeshGroups>(&value.groups)) {
    std::vector<int64_t> sizes;
    for (const AxisRef& axis : along->axes) sizes.push_back(along->mesh.SizeOf(axis));
    const int64_t size = CountDevices(sizes);
    return {{}, along->mesh.DeviceCount() / size, size};
  }
  const auto& listed = std::get<0>(value.groups);
  const auto size = [](const auto& list) { return static_cast<int64_t>(list.size()); };
  return {listed, size(listed), listed.empty() ? 0 : size(listed[0])};
}

int64_t Times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

struct World {
  int64_t ids;          // Number of ids that groups must name.
  int64_t group_size;   // Number of devices with these ids.
  std::string_view of;  // Kind of id, such as "replica".
};
World WorldOf(const ModuleHeader& header, GroupMode mode) {
  const int64_t replicas = header.replica_count;
  const int64_t partitions = header.num_partitions;
  switch (mode) {
    case GroupMode::kCrossReplica: return {replicas, replicas, "replica"};
    case GroupMode::kCrossPartition: return {partitions, partitions, "partition"};
    case GroupMode::kCrossReplicaAndPartition: return {replicas, Times(replicas, partitions), "replica"};
    case GroupMode::kFlattenedId: return {Times(replicas, partitions), Times(replicas, partitions), "device"};
  }
  return {1, 1, ""};
}

bool IsAllReduce(const Instruction& inst) { return inst.Is(Opcode::kAllReduce) || inst.Is(Opcode::kAllReduceStart); }

// Errors: V210, V211, V213, or `code` if it is not null, for ops without a rule in XLA.
Status CheckListedGroups(const Instruction& inst, const Groups& groups, const char* code = nullptr) {
  const auto fail = [&](const char* own, std::string message) {
    return ErrorAtAttribute(inst, "replica_groups", code != nullptr ? code : own, std::move(message));
  };
  std::vector<int64_t> ids;
  for (size_t i = 0; i < groups.listed.size(); ++i) {
    const std::vector<int64_t>& group = groups.listed[i];
    if (group.empty()) FAIL(fail("V210", Str("group ", i, " is empty")));
    ids.insert(ids.end(), group.begin(), group.end());
    if (!IsAllReduce(inst) && group.size() != groups.listed[0].size()) {
      FAIL(fail("V213", Str("group ", i, " has ", group.size(), " ids, but group 0 has ", groups.listed[0].size())));
    }
  }
  std::sort(ids.begin(), ids.end());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == static_cast<int64_t>(i)) continue;
    const bool twice = i > 0 && ids[i] == ids[i - 1];
    FAIL(fail("V211", twice ? Str("id ", ids[i], " occurs twice")
                            : Str("id ", i, " is missing, expected each id from 0 to ", ids.size() - 1)));
  }
  return {};
}

// Returns the number of devices in a group. Errors: V210 to V215.
Result<int64_t> CheckGroups(const Instruction& inst, const CollectiveAttrs& a) {
  if (a.use_global_device_ids && !a.channel_id) {
    FAIL(ErrorAtAttribute(inst, "use_global_device_ids", "V215", "use_global_device_ids=true needs a channel_id"));
  }
  const Groups groups = GroupsOf(a.replica_groups);
  const GroupMode mode = GroupModeOf(inst);
  if (groups.count == 0 && mode == GroupMode::kFlattenedId) {
    FAIL(ErrorAtAttribute(inst, "use_global_device_ids", "V214",
                          "use_global_device_ids=true needs replica_groups, found none"));
  }
  TRY(CheckListedGroups(inst, groups));
  const ModuleHeader& header = inst.module().header;
  const World world = WorldOf(header, mode);
  int64_t ids = Times(groups.count, groups.size);
  if (!groups.listed.empty()) {
    ids = 0;
    for (const auto& group : groups.listed) ids += static_cast<int64_t>(group.size());
  }
  if (groups.count > 0 && world.ids != 1 && ids != world.ids) {
    FAIL(ErrorAtAttribute(inst, "replica_groups", "V212",
                          Str("the groups name ", ids, ids == 1 ? " id" : " ids", ", but the module has ", world.ids,
                              " ", world.of, world.ids == 1 ? "" : "s")));
  }
  if (groups.count == 0) return world.group_size;
  return mode == GroupMode::kCrossReplicaAndPartition ? Times(groups.size, header.num_partitions) : groups.size;
}

Shape OneOrTuple(std::vector<Shape> shapes) {
  return shapes.size() == 1 ? std::move(shapes[0]) : Shape::Tuple(std::move(shapes));
}

// The shape of the operands, without the last operand if it holds dynamic roots.
Shape ShapeOfOperands(const Instruction& inst) {
  std::vector<Shape> shapes;
  for (const Instruction* operand : inst.operands()) shapes.push_back(operand->shape());
  const auto* a = inst.attributes().GetIf<CollectiveAttrs>();
  if (a == nullptr || !a->has_dynamic_root.value_or(false)) return OneOrTuple(std::move(shapes));
  shapes.pop_back();
  return inst.shape().IsTuple() ? Shape::Tuple(std::move(shapes)) : OneOrTuple(std::move(shapes));
}

Status CheckResult(const Instruction& inst, const char* code, const Shape& expected) {
  if (ShapesMatch(inst.shape(), expected, TypeMatch::kFloatsMayDiffer)) return {};
  FAIL(ErrorAtResult(inst, code, Str("result is ", inst.shape(), ", but the operands give ", expected)));
}

Status CheckScaledDim(const Instruction& inst, const CollectiveAttrs& a, const Shape& result, int64_t group_size) {
  const bool gather = !inst.Is(Opcode::kReduceScatter);
  if (inst.operand_count() == 0) FAIL(ErrorAtOperandListEnd(inst, "V218", "expected 1 operand or more, found none"));
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    if (inst.operand(i).shape().IsArray()) continue;
    FAIL(ErrorAtOperand(inst, i, "V218", Str("operand ", i, " is ", inst.operand(i).shape(), ", expected an array")));
  }
  const bool several = inst.operand_count() > 1;
  if (several ? !result.IsTuple() || static_cast<int64_t>(result.elements().size()) != inst.operand_count()
              : !result.IsArray()) {
    FAIL(ErrorAtResult(inst, "V218",
                       Str("result is ", result, ", expected ",
                           several ? Str("a tuple of ", inst.operand_count(), " arrays") : "an array")));
  }
  const int64_t d = a.dimension ? a.dimension->value : -1;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Shape& from = inst.operand(i).shape();
    const Shape& to = several ? result.element(i) : result;
    if (d < 0 || d >= from.rank() || d >= to.rank()) {
      FAIL(ErrorAtAttribute(inst, "dimensions", "V218",
                            d < 0 ? Str("'", inst.opcode(), "' needs one dimension, 0 or above")
                                  : Str("operand ", i, " is ", from, " and its result is ", to, ", but dimensions is {",
                                        d, "}, expected a dimension of both")));
    }
    Shape expected = from;
    expected.SetDim(d, to.dim(d));
    if (!ShapesMatch(to, expected, TypeMatch::kFloatsMayDiffer)) {
      FAIL(ErrorAtResult(inst, "V002",
                         Str("result is ", to, ", expected ", from, " with another size of dimension ", d, " only")));
    }
    const int64_t whole = gather ? to.dim(d) : from.dim(d);
    const int64_t part = gather ? from.dim(d) : to.dim(d);
    if (part <= 0 || whole < 0) continue;  // The dimension is empty or unbounded.
    const char* code = gather ? "V219" : "V221";
    if (whole % part != 0) {
      FAIL(ErrorAtResult(inst, code,
                         Str("dimension ", d, " changes from ", from.dim(d), " to ", to.dim(d),
                             ", but neither size is a multiple of the other")));
    }
    if (group_size > 1 && whole / part != group_size) {
      FAIL(ErrorAtResult(inst, code,
                         Str("dimension ", d, " changes from ", from.dim(d), " to ", to.dim(d), ", by a factor of ",
                             whole / part, ", but the groups have ", group_size, " members")));
    }
  }
  return {};
}

Status CheckAllToAll(const Instruction& inst, const CollectiveAttrs& a, int64_t group_size) {
  if (a.dimension) {
    if (inst.operand_count() != 1) {
      FAIL(ErrorAtOperandListEnd(inst, "V222",
                                 Str("'all-to-all' with a dimension takes 1 operand, found ", inst.operand_count())));
    }
    TRY(CheckArray(inst, 0));
    const Shape& operand = inst.operand(0).shape();
    const int64_t d = a.dimension->value;
    if (d < 0 || d >= operand.rank()) FAIL(ErrorAtAttribute(inst, "dimensions", "V222", NoDimension(operand, d)));
    if (group_size > 0 && operand.dim(d) != Shape::kUnbounded && operand.dim(d) % group_size != 0) {
      FAIL(ErrorAtAttribute(inst, "dimensions", "V222",
                            Str("dimension ", d, " of ", operand, " has size ", operand.dim(d),
                                ", which cannot be divided among the ", group_size, " members of a group")));
    }
    if (operand.HasDynamicDims())
      FAIL(ErrorAtOperand(inst, 0, "V222", Str("operand is ", operand, ", expected static dimensions")));
    return CheckResult(inst, "V002", operand);
  }
  if (group_size > 0 && inst.operand_count() != group_size) {
    FAIL(ErrorAtOperandListEnd(inst, "V223",
                               Str("found ", inst.operand_count(), inst.operand_count() == 1 ? " operand" : " operands",
                                   ", but the groups have ", group_size, group_size == 1 ? " member" : " members")));
  }
  std::vector<Shape> shapes;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const Shape& shape = inst.operand(i).shape();
    if (!Compatible(shape, inst.operand(0).shape()))
      FAIL(ErrorAtOperand(inst, i, "V223",
                          Str("operand ", i, " is ", shape, ", but operand 0 is ", inst.operand(0).shape())));
    shapes.push_back(shape);
  }
  // A single operand gives an array or a tuple of one array.
  if (shapes.size() == 1 && inst.shape().IsArray()) return CheckResult(inst, "V002", shapes[0]);
  return CheckResult(inst, "V002", Shape::Tuple(std::move(shapes)));
}

Status CheckRagged(const Instruction& inst) {
  TRY(CheckArray(inst, 0));
  if (!inst.operand(1).shape().IsArray())
    FAIL(ErrorAtOperand(inst, 1, "V224", Str("operand 1 is ", inst.operand(1).shape(), ", expected an array")));
  TRY(CheckResult(inst, "V224", inst.operand(1).shape()));
  const Shape& first = inst.operand(2).shape();
  if (!first.IsArray() || first.rank() < 1 || first.rank() > 2) {
    FAIL(ErrorAtOperand(inst, 2, "V224", Str("operand 2 is ", first, ", expected an array of rank 1 or 2")));
  }
  for (int64_t i = 3; i < 6; ++i) {
    const Shape& shape = inst.operand(i).shape();
    if (!Compatible(shape, first))
      FAIL(ErrorAtOperand(inst, i, "V224", Str("operand ", i, " is ", shape, ", but operand 2 is ", first)));
  }
  return {};
}

// ---- collective-permute ------------------------------------------------------------------------------------------

Status CheckPairs(const Instruction& inst, const PermuteAttrs& a) {
  const auto fail = [&](std::string message) {
    return ErrorAtAttribute(inst, "source_target_pairs", "V225", std::move(message));
  };
  const ModuleHeader& header = inst.module().header;
  const int64_t ids = a.channel_id ? header.num_partitions : header.replica_count;
  // A device sends as many slices as slice_sizes lists.
  const int64_t often = a.slice_sizes ? std::max<int64_t>(1, static_cast<int64_t>(a.slice_sizes->size())) : 1;
  std::unordered_map<int64_t, int64_t> seen[2];
  for (const std::vector<int64_t>& pair : a.source_target_pairs) {
    if (pair.size() != 2) FAIL(fail(Str("a pair has ", pair.size(), " entries, expected 2")));
    for (int side = 0; side < 2; ++side) {
      const char* what = side == 0 ? "source " : "target ";
      if (pair[side] < 0 || (ids != 1 && pair[side] >= ids)) {
        FAIL(fail(Str(what, pair[side], " does not exist, because the module has ", ids,
                      a.channel_id ? " partitions" : " replicas")));
      }
      if (++seen[side][pair[side]] > often)
        FAIL(fail(Str(what, pair[side], " occurs ", often == 1 ? "twice" : Str("more than ", often, " times"))));
    }
  }
  return {};
}

// Whether `offset` is a tuple with one scalar for each dimension, or a tuple of such tuples.
bool IsOffset(const Shape& offset, int64_t rank) {
  if (!offset.IsTuple()) return false;
  const std::vector<Shape>& parts = offset.elements();
  if (!parts.empty() && parts[0].IsTuple())
    return std::all_of(parts.begin(), parts.end(), [&](const Shape& part) {
      return part.IsTuple() && (part.elements().empty() || !part.element(0).IsTuple()) && IsOffset(part, rank);
    });
  return static_cast<int64_t>(parts.size()) == rank &&
         std::all_of(parts.begin(), parts.end(), [](const Shape& part) { return part.IsScalar(); });
}

// V226: input, output, and the offsets in both.
Status CheckInPlace(const Instruction& inst) {
  if (inst.operand_count() != 4) {
    FAIL(ErrorAtOperandListEnd(inst, "V226", Str("slice_sizes needs 4 operands, found ", inst.operand_count())));
  }
  const Shape& input = inst.operand(0).shape();
  const Shape& output = inst.operand(1).shape();
  const bool alike = input.IsTuple() ? output.IsTuple() && input.elements().size() == output.elements().size()
                                     : input.IsArray() && output.IsArray();
  if (!alike) FAIL(ErrorAtOperand(inst, 1, "V226", Str("the output is ", output, ", but the input is ", input)));
  for (int64_t i = 2; i < 4; ++i) {
    const Shape& buffer = i == 2 ? input : output;
    const Shape& offset = inst.operand(i).shape();
    bool fits = true;
    if (buffer.IsArray()) {
      fits = IsOffset(offset, buffer.rank());
    } else {
      fits = offset.IsTuple() && offset.elements().size() == buffer.elements().size();
      for (size_t k = 0; fits && k < buffer.elements().size(); ++k) {
        fits = buffer.element(k).IsArray() && IsOffset(offset.element(k), buffer.element(k).rank());
      }
    }
    if (!fits) {
      FAIL(ErrorAtOperand(inst, i, "V226",
                          Str("offset is ", offset, ", expected ",
                              buffer.IsArray() ? Str("a tuple of ", buffer.rank(), " scalars") : "a tuple of offsets",
                              " for ", buffer)));
    }
  }
  return {};
}

Status CheckPermute(const Instruction& inst, const PermuteAttrs& a) {
  TRY(CheckPairs(inst, a));
  if (a.slice_sizes) TRY(CheckInPlace(inst));
  if (inst.operand_count() == 0) return {};  // V309 reports this.
  const Shape from = a.slice_sizes ? inst.operand(0).shape() : ShapeOfOperands(inst);
  const Shape to = a.slice_sizes ? inst.operand(1).shape() : from;
  if (inst.Is(Opcode::kCollectivePermute)) return CheckResult(inst, "V002", to);
  const std::vector<Shape>& parts = inst.shape().elements();
  const bool fits = parts.size() >= 2 && ShapesMatch(parts[0], from, TypeMatch::kFloatsMayDiffer) &&
                    ShapesMatch(parts[1], to, TypeMatch::kFloatsMayDiffer);
  if (fits || a.slice_sizes) return {};
  FAIL(ErrorAtResult(inst, "V227", Str("result is ", inst.shape(), ", expected (", from, ", ", to, ", ...)")));
}

// V308: the last operand holds a root for each other operand.
Status CheckDynamicRoot(const Instruction& inst) {
  const int64_t results = inst.operand_count() - 1;
  const Shape& roots = inst.operand(results).shape();
  if (Compatible(roots, Shape(PrimitiveType::kS32, std::vector<int64_t>{results}))) return {};
  FAIL(ErrorAtOperand(inst, results, "V308", Str("roots are ", roots, ", expected s32[", results, "]")));
}

}  // namespace

Status CheckCollective(const Instruction& inst) {
  if (const auto* permute = inst.attributes().GetIf<PermuteAttrs>()) return CheckPermute(inst, *permute);
  const auto* a = inst.attributes().GetIf<CollectiveAttrs>();
  if (a == nullptr) return {};
  if (inst.Is(Opcode::kCollectiveBroadcast)) {
    if (inst.operand_count() == 0) return {};  // V309 reports this.
    if (a->has_dynamic_root.value_or(false)) {
      TRY(CheckResult(inst, "V228", ShapeOfOperands(inst)));
      TRY(CheckDynamicRoot(inst));
    } else {
      if (!inst.operand(0).shape().IsArray())
        FAIL(ErrorAtOperand(inst, 0, "V228", Str("operand is ", inst.operand(0).shape(), ", expected an array")));
      TRY(CheckResult(inst, "V228", inst.operand(0).shape()));
    }
    return CheckListedGroups(inst, GroupsOf(a->replica_groups), "V308");
  }
  const int64_t group_size = TRY(CheckGroups(inst, *a));
  switch (inst.opcode()) {
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kCollectiveReduce:
      for (int64_t i = 0; i < inst.operand_count(); ++i) {
        if (!inst.operand(i).shape().IsArray())
          FAIL(ErrorAtOperand(inst, i, "V216",
                              Str("operand ", i, " is ", inst.operand(i).shape(), ", expected an array")));
      }
      if (a->channel_id && *a->channel_id <= 0)
        FAIL(ErrorAtAttribute(inst, "channel_id", "V216",
                              Str("channel_id is ", *a->channel_id, ", expected 1 or more")));
      if (inst.operand_count() == 0) return {};  // V309 reports this.
      TRY(CheckResult(inst, "V002", ShapeOfOperands(inst)));
      return a->has_dynamic_root.value_or(false) ? CheckDynamicRoot(inst) : Status();
    case Opcode::kAllGather:
    case Opcode::kReduceScatter: return CheckScaledDim(inst, *a, inst.shape(), group_size);
    case Opcode::kAllGatherStart: {
      const std::vector<Shape>& parts = inst.shape().elements();
      if (parts.size() != 2 ||
          (inst.operand_count() > 0 && !ShapesMatch(parts[0], ShapeOfOperands(inst), TypeMatch::kFloatsMayDiffer))) {
        FAIL(ErrorAtResult(inst, "V220",
                           Str("result is ", inst.shape(), ", expected (", ShapeOfOperands(inst), ", gathered)")));
      }
      return CheckScaledDim(inst, *a, parts[1], group_size);
    }
    case Opcode::kAllToAll: return CheckAllToAll(inst, *a, group_size);
    case Opcode::kRaggedAllToAll: return CheckRagged(inst);
    default: return {};
  }
}

void CheckLayoutConstraints(Findings& findings) {
  const Instruction* first = nullptr;
  for (const Instruction* inst : findings.notable()) {
    if (!IsAllReduce(*inst)) continue;
    if (first == nullptr) first = inst;
    const bool constrained = inst->attrs<CollectiveAttrs>().constrain_layout;
    if (constrained == first->attrs<CollectiveAttrs>().constrain_layout || findings.IsWrong(*inst)) continue;
    findings.Add(*inst, ErrorAtAttribute(*inst, "constrain_layout", "V217",
                                         Str("constrain_layout is ", constrained ? "true" : "false", " here and ",
                                             constrained ? "false" : "true", " on '", first->name(), "'"))
                            .AddNote(Str("'", first->name(), "' is defined here"), NameRange(*first)));
  }
}

}  // namespace hlo
