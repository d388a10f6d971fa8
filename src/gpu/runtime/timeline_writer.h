// How what a runner does gets into its timeline.
//
//   the host's clock    on a host, around the work
//   the device's log    where it has one (gpu/device/activity_log.h): what is queued gets a number, what is recorded a
//                       piece for each thing that is an event; after the run the log tells when they ran
//   its own clock       else: each step is waited for
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

// What is in a recording, piece by piece, in the order in which it was queued.
struct RecordedPieces {
  // A trip of a loop that is written out; or, number -1, all trips of one that the device decides about. Such a loop
  // begins anew each time that piece `begins` has run; a trip of it ends with piece `ends`.
  struct Trip {
    int loop;
    int64_t number = -1;
    int parent = -1;  // Into `trips`.
    int64_t begins = -1, ends = -1;
  };
  struct Piece {
    TimelineEvent event;
    int trip = -1;  // Into `trips`.
  };
  int64_t first = 0;  // The number of the first piece: no two recordings of a process have one in common.
  std::vector<Piece> pieces;
  std::vector<Trip> trips;
};

class TimelineWriter {
 public:
  // Null: nothing is written.
  TimelineWriter(Device& device, Timeline* timeline) : device_(device), timeline_(timeline) {}

  bool is_on() const { return timeline_ != nullptr; }
  bool asks_log() const { return log_ != nullptr; }
  // Before the run, and when all of it is done. Neither fails the run: see Timeline::no_log.
  void Begin();
  void End();

  // What `work` queues, or does (`on_host`), as an event.
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

  // The trip that all events until EndTrip are of; what it stands in is handed to that.
  int BeginTrip(const LoopStep& step);
  void EndTrip(int outer, bool ran);

  // ---- Recordings: nothing of it happens without a log ----

  Status Replay(const Recording& recording, const std::shared_ptr<const RecordedPieces>& pieces);
  void BeginRecording();
  std::shared_ptr<const RecordedPieces> EndRecording() { return std::exchange(making_, nullptr); }
  // What was recorded since the last piece. Its number; -1: there are no pieces.
  int64_t Name(TimelineEvent event);
  // The same, of a piece that is there.
  void NameAs(int64_t piece);
  // Pieces until LeaveTrip are of it; what it stands in is handed to that.
  int EnterTrip(int loop, int64_t number, int64_t begins = -1);
  void LeaveTrip(int outer) { recorded_trip_ = outer; }
  void EndLoop(int trip, int64_t ends) {
    if (making_ != nullptr && trip >= 0) making_->trips[trip].ends = ends;
  }
  int recorded_trip() const { return recorded_trip_; }

 private:
  struct Launched {
    TimelineEvent event;
    std::shared_ptr<const RecordedPieces> pieces;  // Of a graph, which is number event.graph; null: it is no graph.
  };

  bool IsFull();
  void Sort(const Activities& told);
  // The log fails: it is asked nothing any more.
  void Fails(const Error& error);
  void Enter(TimelineEvent event, std::shared_ptr<const RecordedPieces> pieces = nullptr);
  void Leave();

  Device& device_;
  Timeline* timeline_;
  ActivityLog* log_ = nullptr;
  int trip_ = -1;
  std::vector<Launched> launched_;  // Number i + 1 with the log.
  int graphs_ = 0;                  // Of them.
  std::shared_ptr<RecordedPieces> making_;
  int recorded_trip_ = -1;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TIMELINE_WRITER_H_
