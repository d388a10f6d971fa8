// Where the devices of one run meet: at collectives, where all of a group must have come, and at send and recv. Nothing
// here runs anything; the interpreter says who arrives where, and is told who may go on. Internal to interp/.
//
// A start (all-reduce-start, ...) meets where it stands, so that a done never waits. A send leaves its value behind and
// goes on; a recv-done waits for it.
#ifndef HLO_INTERP_DEVICES_MEETINGS_H_
#define HLO_INTERP_DEVICES_MEETINGS_H_

#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interp/devices/collectives.h"
#include "interp/evaluation.h"

namespace hlo {

class Meetings {
 public:
  explicit Meetings(const DeviceGrid& grid) : grid_(grid), waits_at_(grid.count(), nullptr) {}

  // `device` stands before `inst`. Its value; or null, and the device waits until TakeReady names it.
  Result<std::optional<Literal>> Arrive(int device, const Instruction& inst, std::vector<Literal> operands,
                                        Session& session);
  // Those who have stopped waiting since the last call, with the values they waited for.
  std::vector<std::pair<int, Literal>> TakeReady() { return std::exchange(ready_, {}); }

  // When nobody runs any more: [R040] if somebody waits, or something that was sent was never received.
  Status CheckAllDone() const;

 private:
  // A group at one instruction.
  struct Group {
    std::vector<int> devices;
    std::vector<std::vector<Literal>> operands;  // By place; of those who have come.
    std::vector<bool> here;
    size_t arrived = 0;
  };
  struct Place {
    std::vector<Group> groups;
    std::vector<std::pair<int, int>> of;  // Group and place in it, by device; {-1, -1}: takes no part.
    std::vector<int64_t> times;           // That each device was here.
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
  std::vector<const Instruction*> waits_at_;  // By device.
  std::vector<std::pair<int, Literal>> ready_;
  // Values on their way, in order, and who waits for the next of a route.
  std::map<Route, std::vector<Sent>> sent_;
  std::map<Route, int> awaited_;
  // A pending recv is known by the u32 in its value; 0 where nobody sends and zeros come.
  std::unordered_map<int64_t, Route> pending_;
  int64_t last_pending_ = 0;
};

}  // namespace hlo

#endif  // HLO_INTERP_DEVICES_MEETINGS_H_
