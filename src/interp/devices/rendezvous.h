// Synchronizes devices at collectives, send and recv: the interpreter reports arrivals and learns which devices can
// continue. Internal to interp/.
//
// The start of a collective exchanges values, so its done never waits. A send stores its value, for which a recv-done
// waits.
#ifndef HLO_INTERP_DEVICES_RENDEZVOUS_H_
#define HLO_INTERP_DEVICES_RENDEZVOUS_H_

#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interp/devices/collectives.h"
#include "interp/evaluation.h"

namespace hlo {

class Rendezvous {
 public:
  explicit Rendezvous(const DeviceGrid& grid) : grid_(grid), waits_at_(grid.count(), nullptr) {}

  // Returns nullopt if the device must wait for TakeReady.
  Result<std::optional<Literal>> Arrive(int device, const Instruction& inst, std::vector<Literal> operands,
                                        Session& session);
  // Devices that stopped waiting since the last call, with their values.
  std::vector<std::pair<int, Literal>> TakeReady() { return std::exchange(ready_, {}); }

  // Error R040 if a device waits or a sent value was not received.
  Status CheckAllDone() const;

 private:
  struct Group {
    std::vector<int> devices;
    std::vector<std::vector<Literal>> operands;  // Indexed by position in the group.
    std::vector<bool> here;
    size_t arrived = 0;
  };
  struct Place {
    std::vector<Group> groups;
    std::vector<std::pair<int, int>> of;  // Group and position by device, or {-1, -1}.
    std::vector<int64_t> times;           // Arrivals by device.
  };
  // Channel, source, target.
  using Route = std::tuple<int64_t, int, int>;
  struct Sent {
    const Instruction* send;
    Literal value;
  };

  Result<Place*> PlaceOf(const Instruction& inst);
  Result<std::optional<Route>> RouteOf(const Instruction& inst, int device) const;
  Result<std::optional<Literal>> Send(int device, const Instruction& inst, std::vector<Literal> operands);
  Result<std::optional<Literal>> Receive(int device, const Instruction& inst);
  Result<std::optional<Literal>> ReceiveDone(int device, const Instruction& inst, const Literal& pending);
  Result<Literal> Delivered(const Instruction& done, const Route& route);
  Error Deadlock() const;

  const DeviceGrid grid_;
  std::unordered_map<const Instruction*, Place> places_;
  std::vector<const Instruction*> waits_at_;
  std::vector<std::pair<int, Literal>> ready_;
  // The values of each route in order, and the device that waits for the next value.
  std::map<Route, std::vector<Sent>> sent_;
  std::map<Route, int> awaited_;
  // Routes of pending recvs, by the u32 in the recv's value, which is 0 if no device sends.
  std::unordered_map<int64_t, Route> pending_;
  int64_t last_pending_ = 0;
};

}  // namespace hlo

#endif  // HLO_INTERP_DEVICES_RENDEZVOUS_H_
