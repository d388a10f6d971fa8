// Records a runner's actions in its timeline, with one of three clocks:
//
//   the host's clock    on a host, around the work
//   the device's log    if it has one (gpu/device/activity_log.h). The log numbers queued work. In a recording, each
//                       event is a piece with its own number
//   the writer's clock  otherwise, waiting for each step
#ifndef HLO_GPU_RUNTIME_TIMELINE_WRITER_H_
#define HLO_GPU_RUNTIME_TIMELINE_WRITER_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gpu/device/activity_log.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "gpu/runtime/timeline.h"

namespace hlo::gpu {

struct RecordedPieces {
  // A trip of an unrolled loop or, if `number` is -1, all trips of a loop whose condition the device evaluates. Each
  // execution of piece `begins` starts the loop, and each execution of piece `ends` ends a trip.
  struct Trip {
    int loop;
    int64_t number = -1;
    int parent = -1;  // Index in `trips`.
    int64_t begins = -1, ends = -1;
  };
  struct Piece {
    TimelineEvent event;
    int trip = -1;  // Index in `trips`.
  };
  int64_t first = 0;  // Number of the first piece, unique in the process.
  std::vector<Piece> pieces;
  std::vector<Trip> trips;
};

class TimelineWriter {
 public:
  // A null timeline disables the writer.
  TimelineWriter(Device& device, Timeline* timeline) : device_(device), timeline_(timeline) {}

  bool is_on() const { return timeline_ != nullptr; }
  bool asks_log() const { return log_ != nullptr; }
  // Errors in Begin and End only set Timeline::no_log.
  void Begin();
  void End();

  // Runs `work` and times it as `event`. With `on_host` the work itself runs on the host, otherwise `work` queues it.
  template <class Work>
  Status Timed(TimelineEvent event, bool on_host, const Work& work) {
    if (IsFull()) return work();
    event.trip = trip_;
    if (on_host && log_ != nullptr) TRY(device_.Synchronize());
    event.queued = Timeline::Now();
    if (log_ != nullptr && !on_host) {
      Enter(event);
      TRY(work());
      Leave();
      return {};
    }
    if (device_.IsHost() || log_ != nullptr) {
      TRY(work());
      event.begin = event.queued;
      event.end = event.queue_end = Timeline::Now();
    } else {
      TRY(device_.StartClock());
      TRY(work());
      event.queue_end = Timeline::Now();
      const std::optional<double> device_ms = TRY(device_.StopClock());
      TRY(device_.Synchronize());
      event.end = Timeline::Now();
      event.begin =
          device_ms ? std::max(event.queued, event.end - static_cast<int64_t>(*device_ms * 1e6)) : event.queued;
    }
    timeline_->events.push_back(event);
    return {};
  }

  int BeginTrip(const LoopStep& step);
  void EndTrip(int outer, bool ran);

  // ---- Recordings (only with a log) ----

  Status Replay(const Recording& recording, const std::shared_ptr<const RecordedPieces>& pieces);
  void BeginRecording();
  std::shared_ptr<const RecordedPieces> EndRecording() { return std::exchange(making_, nullptr); }
  // The nodes recorded since the last piece become a piece of `event`. Returns its number, or -1 without a log.
  int64_t Name(TimelineEvent event);
  // Adds the nodes recorded since the last piece to `piece`.
  void NameAs(int64_t piece);
  int EnterTrip(int loop, int64_t number, int64_t begins = -1);
  void LeaveTrip(int outer) { recorded_trip_ = outer; }
  void EndLoop(int trip, int64_t ends) {
    if (making_ != nullptr && trip >= 0) making_->trips[trip].ends = ends;
  }
  int recorded_trip() const { return recorded_trip_; }

 private:
  struct Launched {
    TimelineEvent event;
    std::shared_ptr<const RecordedPieces> pieces;  // Null for work outside graphs.
  };

  bool IsFull();
  void Sort(const Activities& told);
  void Fails(const Error& error);
  void Enter(TimelineEvent event, std::shared_ptr<const RecordedPieces> pieces = nullptr);
  void Leave();

  Device& device_;
  Timeline* timeline_;
  ActivityLog* log_ = nullptr;
  int trip_ = -1;
  std::vector<Launched> launched_;  // In the log, the number of a launch is its index + 1.
  int graphs_ = 0;
  std::shared_ptr<RecordedPieces> making_;
  int recorded_trip_ = -1;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TIMELINE_WRITER_H_
