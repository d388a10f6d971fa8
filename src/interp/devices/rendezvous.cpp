#include "interp/devices/rendezvous.h"

#include <algorithm>

#include "base/text.h"
#include "ir/device_groups.h"
#include "ir/frontend_attributes.h"
#include "ir/module.h"

namespace hlo {
namespace {

Error RendezvousError(const Instruction& inst, std::string message) {
  return ErrorAt(inst, "R040", std::move(message), ExitCode::kNo);
}

}  // namespace

Result<Rendezvous::Place*> Rendezvous::PlaceOf(const Instruction& inst) {
  const auto known = places_.find(&inst);
  if (known != places_.end()) return &known->second;
  TRY(CheckStart(inst));
  DeviceGroups named = TRY(GroupsAt(inst, grid_));
  Place& place = places_[&inst];
  place.of.assign(grid_.count(), {-1, -1});
  place.times.assign(grid_.count(), 0);
  for (std::vector<int>& devices : named.groups) {
    for (size_t i = 0; i < devices.size(); ++i)
      place.of[devices[i]] = {static_cast<int>(place.groups.size()), static_cast<int>(i)};
    Group& group = place.groups.emplace_back();
    group.operands.resize(devices.size());
    group.here.assign(devices.size(), false);
    group.devices = std::move(devices);
  }
  return &place;
}

Result<std::optional<Literal>> Rendezvous::Arrive(int device, const Instruction& inst, std::vector<Literal> operands,
                                                  Session& session) {
  if (inst.Is(Opcode::kSend)) return Send(device, inst, std::move(operands));
  if (inst.Is(Opcode::kRecv)) return Receive(device, inst);
  if (inst.Is(Opcode::kRecvDone)) return ReceiveDone(device, inst, operands[0]);
  Place& place = *TRY(PlaceOf(inst));
  const auto [number, own] = place.of[device];
  if (number < 0) return AloneAt(inst, operands);
  Group& group = place.groups[number];
  group.operands[own] = std::move(operands);
  group.here[own] = true;
  ++place.times[device];
  waits_at_[device] = &inst;
  if (++group.arrived < group.devices.size()) return std::nullopt;

  Gathering gathering = {inst, grid_, group.devices, group.operands, session};
  std::vector<Literal> values = TRY(Exchange(gathering));
  for (size_t i = 0; i < values.size(); ++i) {
    waits_at_[group.devices[i]] = nullptr;
    group.operands[i].clear();
    group.here[i] = false;
    if (group.devices[i] != device) ready_.emplace_back(group.devices[i], std::move(values[i]));
  }
  group.arrived = 0;
  return std::move(values[own]);
}

// ---- send and recv -------------------------------------------------------------------------------------------------

// The attribute's pairs are partitions of one replica if there is a channel and several partitions, otherwise replicas
// of one partition.
Result<std::optional<Rendezvous::Route>> Rendezvous::RouteOf(const Instruction& inst, int device) const {
  const ChannelAttrs& attrs = inst.attrs<ChannelAttrs>();
  if (attrs.is_host_transfer)
    FAIL(UnsupportedAt(inst, "U002",
                       Str("'", inst.opcode(), "' between device and host is not supported by the interpreter")));
  const auto text = FrontendAttribute(inst, kSendRecvPairs);
  if (!text)
    FAIL(UnsupportedAt(inst, "U002",
                       Str("'", inst.opcode(), "' without the frontend attribute ", kSendRecvPairs,
                           " is not supported by the interpreter")));
  const int64_t channel = attrs.channel_id.value_or(0);
  const bool partitions = channel > 0 && grid_.partitions > 1;
  const int64_t ids = partitions ? grid_.partitions : grid_.replicas;
  const int64_t replica = device / grid_.partitions, partition = device % grid_.partitions;
  const auto device_of = [&](int64_t id) {
    return static_cast<int>(partitions ? replica * grid_.partitions + id : id * grid_.partitions + partition);
  };
  for (const auto& [source, target] : ReadDevicePairs(*text)) {
    if (source >= ids || target >= ids) {
      FAIL(RendezvousError(
          inst, Str("'", inst.name(), "' names ", partitions ? "partition " : "replica ", std::max(source, target),
                    ", but there are ", ids, partitions ? " partitions" : " replicas")));
    }
    if (device_of(inst.Is(Opcode::kSend) ? source : target) != device) continue;
    return Route(channel, device_of(source), device_of(target));
  }
  return std::nullopt;
}

Result<std::optional<Literal>> Rendezvous::Send(int device, const Instruction& inst, std::vector<Literal> operands) {
  const auto route = TRY(RouteOf(inst, device));
  Literal result(inst.shape());
  if (!result.shape().IsTuple() || result.elements().size() != 3)
    FAIL(UnsupportedAt(inst, "U002", Str("'send' with result ", inst.shape(), " is not supported by the interpreter")));
  result.mutable_elements()[0] = operands[0];
  if (!route) return result;
  sent_[*route].push_back({&inst, std::move(operands[0])});
  if (const auto waiting = awaited_.find(*route); waiting != awaited_.end()) {
    const int target = waiting->second;
    ready_.emplace_back(target, TRY(Delivered(*waits_at_[target], *route)));
    waits_at_[target] = nullptr;
    awaited_.erase(*route);
  }
  return result;
}

Result<std::optional<Literal>> Rendezvous::Receive(int device, const Instruction& inst) {
  const auto route = TRY(RouteOf(inst, device));
  Literal pending(inst.shape());
  const auto& elements = inst.shape().elements();
  if (!inst.shape().IsTuple() || elements.size() != 3 || elements[1] != Shape::Scalar(PrimitiveType::kU32))
    FAIL(UnsupportedAt(inst, "U002", Str("'recv' with result ", inst.shape(), " is not supported by the interpreter")));
  if (!route) return pending;
  pending_.emplace(++last_pending_, *route);
  pending.mutable_elements()[1].SetInt(0, last_pending_);
  return pending;
}

Result<std::optional<Literal>> Rendezvous::ReceiveDone(int device, const Instruction& inst, const Literal& pending) {
  if (inst.attrs<ChannelAttrs>().is_host_transfer)
    FAIL(UnsupportedAt(inst, "U002", "'recv-done' between device and host is not supported by the interpreter"));
  const auto recv = pending_.find(pending.elements()[1].GetInt(0));
  if (recv == pending_.end()) return Literal(inst.shape());
  const Route route = recv->second;
  pending_.erase(recv);
  if (sent_.contains(route)) return Delivered(inst, route);
  awaited_[route] = device;
  waits_at_[device] = &inst;
  return std::nullopt;
}

Result<Literal> Rendezvous::Delivered(const Instruction& done, const Route& route) {
  const auto on_way = sent_.find(route);
  Sent next = std::move(on_way->second.front());
  on_way->second.erase(on_way->second.begin());
  if (on_way->second.empty()) sent_.erase(on_way);
  Literal result(done.shape());
  if (!done.shape().IsTuple() || done.shape().elements().empty() ||
      !Compatible(done.shape().element(0), next.value.shape())) {
    Error error = RendezvousError(
        done, Str("'", done.name(), "' receives ", done.shape(), ", but ", next.value.shape(), " was sent"));
    return std::unexpected(std::move(error).AddNote(Str("sent by '", next.send->name(), "'"), next.send->range()));
  }
  result.mutable_elements()[0] = std::move(next.value);
  return result;
}

// ---- Deadlocks -----------------------------------------------------------------------------------------------------

Status Rendezvous::CheckAllDone() const {
  if (std::ranges::any_of(waits_at_, [](const Instruction* inst) { return inst != nullptr; })) FAIL(Deadlock());
  for (const auto& [route, values] : sent_) {
    const auto& [channel, source, target] = route;
    FAIL(RendezvousError(*values[0].send, Str(grid_.Name({&source, 1}), " sent a value at '", values[0].send->name(),
                                              "' that ", grid_.Name({&target, 1}), " never received")));
  }
  return {};
}

Error Rendezvous::Deadlock() const {
  std::vector<int> waiting, ended;
  for (int device = 0; device < grid_.count(); ++device)
    (waits_at_[device] != nullptr ? waiting : ended).push_back(device);
  const Instruction& first = *waits_at_[waiting[0]];
  std::string message = Str("deadlock: no ", grid_.noun(), " can continue, ", waiting.size(), " of ", grid_.count(),
                            waiting.size() == 1 ? " waits" : " wait");
  if (grid_.noun() == "device") message += Str(" (number = replica * ", grid_.partitions, " + partition)");
  Error error = RendezvousError(first, std::move(message));
  std::vector<Note>& notes = error.diagnostics.front().notes;

  std::vector<bool> told(grid_.count(), false);
  for (const int device : waiting) {
    if (told[device]) continue;
    const Instruction& inst = *waits_at_[device];
    std::vector<int> here, missing;
    // Missing devices may have run a loop more or less often.
    std::string times;
    if (inst.Is(Opcode::kRecvDone)) {
      here = {device};
      for (const auto& [route, target] : awaited_) {
        if (target == device) missing = {std::get<1>(route)};
      }
    } else {
      const Place& place = places_.at(&inst);
      const Group& group = place.groups[place.of[device].first];
      for (size_t i = 0; i < group.devices.size(); ++i) (group.here[i] ? here : missing).push_back(group.devices[i]);
      const auto times_of = [&](int other) { return place.times[other]; };
      const auto [least, most] = std::ranges::minmax(missing, {}, times_of);
      if (times_of(least) == times_of(most))
        times = Str(", which reached this instruction ", times_of(most), times_of(most) == 1 ? " time" : " times",
                    " so far");
    }
    for (const int other : here) told[other] = true;
    notes.push_back({Str(grid_.Name(here), here.size() == 1 ? " waits" : " wait", " at '", inst.name(), "' (",
                         inst.opcode(), ") for ", grid_.Name(missing), times),
                     inst.range()});
  }
  if (!ended.empty())
    notes.push_back({Str(grid_.Name(ended), ended.size() == 1 ? " has" : " have", " ended"), SourceRange()});
  return error;
}

}  // namespace hlo
