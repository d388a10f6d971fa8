// Estimates the time of a step of a program for several devices by simulating one of them.
//
// A device has a queue for kernels and one for exchanges, both in the order of the schedule. A collective begins when
// the kernels before it have ended and the exchange queue is free. Later kernels wait for the end of a synchronous
// collective, or wait at the -done of an asynchronous one. cost.h has the times of kernels, ir/mesh/exchange_time.h the
// times of exchanges. All devices are assumed to be alike.
#ifndef HLO_DRIVER_INSPECT_SCHEDULE_H_
#define HLO_DRIVER_INSPECT_SCHEDULE_H_

#include <algorithm>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/device_description.h"
#include "ir/mesh/exchange_time.h"
#include "ir/module.h"

namespace hlo {

struct ScheduledExchange {
  const Instruction* inst;
  Exchange exchange;
  ExchangeTime time;   // For one run.
  double runs = 0;     // In a step.
  double exposed = 0;  // Seconds of a step in which kernels wait for this exchange.
};

// Times are in seconds.
struct SimulatedStep {
  Topology topology;
  double step = 0;
  double compute = 0;                        // The busy time of the kernel queue.
  double exchange = 0;                       // The busy time of the exchange queue.
  std::vector<ScheduledExchange> exchanges;  // The most exposed first.

  int64_t devices() const { return topology.DeviceCount(); }
  double exposed() const { return std::max(0.0, step - compute); }
  // The share of the exchanges during which kernels run.
  double overlap() const { return exchange > 0 ? std::max(0.0, 1 - exposed() / exchange) : 0; }
  // The bytes that a device receives over the links of a level.
  double ReceivedAt(size_t level) const;
};

struct ScheduleReport {
  const Module* module;
  const DeviceDescription* device;
  bool is_unpartitioned = false;  // Shardings split arrays: the module is not the program of one device.
  bool fused = false;             // If false, every instruction counts as a kernel.
  // The first step is for the devices of the module. Further steps have more devices and the groups of
  // ExchangeGroups::Grown, but the same arrays on a device.
  std::vector<SimulatedStep> steps;
  int64_t fixed_groups = 0;  // Collectives whose groups cannot grow, because they are irregular or pairs.
  std::vector<std::string> not_modelled;
};

// The last step has all devices of the topology, or at most 65,536 if the topology has any number.
// Errors (F004): the module has more devices than the topology.
Result<ScheduleReport> ScheduleOf(const Module& module, const DeviceDescription& device, const Topology& topology);

std::string ScheduleText(const ScheduleReport& report, int64_t top);  // `top` exchanges. 0 is all.
std::string ScheduleJson(const ScheduleReport& report);               // "hlo.schedule/1"

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_SCHEDULE_H_
