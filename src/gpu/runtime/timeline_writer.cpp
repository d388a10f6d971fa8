#include "gpu/runtime/timeline_writer.h"

#include <atomic>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace hlo::gpu {
namespace {

class GraphRun {
 public:
  GraphRun(const RecordedPieces& pieces, Timeline& timeline)
      : pieces_(pieces), timeline_(timeline), nodes_(pieces.pieces.size()), executions_(pieces.pieces.size()) {}

  bool Has(const Activity& activity) const {
    return activity.piece >= pieces_.first && activity.piece < pieces_.first + std::ssize(nodes_);
  }
  void Add(const Activity& activity) { nodes_[activity.piece - pieces_.first][activity.node].push_back(&activity); }
  bool is_empty() const { return std::ranges::all_of(nodes_, &Nodes::empty); }

  // Pieces are processed in order, because trips of a loop depend on the earlier piece that enters the loop.
  void AddEvents(const TimelineEvent& launch) {
    for (size_t i = 0; i < nodes_.size(); ++i) Join(i);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (Execution& one : executions_[i]) {
        TimelineEvent event = pieces_.pieces[i].event;
        event.trip = one.trip = TripAt(pieces_.pieces[i].trip, one.begin, launch.trip);
        std::tie(event.graph, event.queued, event.queue_end) =
            std::tuple(launch.graph, launch.queued, launch.queue_end);
        std::tie(event.begin, event.end) = std::pair(one.begin, one.end);
        for (int trip = event.trip; trip >= 0 && trip != launch.trip; trip = timeline_.trips[trip].parent) {
          TimelineTrip& around = timeline_.trips[trip];
          around.begin = around.end == 0 ? one.begin : std::min(around.begin, one.begin);
          around.end = std::max(around.end, one.end);
        }
        if (timeline_.events.size() < timeline_.most_events) timeline_.events.push_back(event);
        else ++timeline_.dropped;
      }
    }
  }

 private:
  using Nodes = std::map<uint64_t, std::vector<const Activity*>>;
  struct Execution {
    int64_t begin, end;
    int trip = -1;
  };

  // The i-th execution of a piece consists of the i-th execution of each of its nodes.
  void Join(size_t piece) {
    std::vector<Execution>& all = executions_[piece];
    for (auto& [node, activities] : nodes_[piece]) {
      std::ranges::sort(activities, {}, &Activity::begin);
      for (size_t i = 0; i < activities.size(); ++i) {
        if (i == all.size()) all.push_back({activities[i]->begin, activities[i]->end});
        all[i].begin = std::min(all[i].begin, activities[i]->begin);
        all[i].end = std::max(all[i].end, activities[i]->end);
      }
    }
  }

  int64_t Before(int64_t piece, int64_t time) const {
    if (piece < 0) return 0;
    const auto& all = executions_[piece - pieces_.first];
    return std::ranges::lower_bound(all, time, {}, &Execution::begin) - all.begin();
  }

  // The trip of an execution at `time`. `around` is the trip of the launch.
  int TripAt(int recorded, int64_t time, int around) {
    if (recorded < 0) return around;
    const RecordedPieces::Trip& trip = pieces_.trips[recorded];
    if (trip.number >= 0) return Find(trip.loop, trip.number, TripAt(trip.parent, time, around));
    const int64_t begins = Before(trip.begins, time);
    if (begins == 0) return TripAt(trip.parent, time, around);
    const Execution& entry = executions_[trip.begins - pieces_.first][begins - 1];
    const int64_t number = Before(trip.ends, time) - Before(trip.ends, entry.begin);
    return Find(trip.loop, number, entry.trip, begins);
  }

  int Find(int loop, int64_t number, int parent, int64_t entry = 0) {
    const auto [at, fresh] =
        found_.try_emplace({loop, number, parent, entry}, static_cast<int>(timeline_.trips.size()));
    if (fresh) timeline_.trips.push_back({.loop = loop, .number = number, .parent = parent});
    return at->second;
  }

  const RecordedPieces& pieces_;
  Timeline& timeline_;
  std::vector<Nodes> nodes_;
  std::vector<std::vector<Execution>> executions_;  // In order of time.
  std::map<std::tuple<int, int64_t, int, int64_t>, int> found_;
};

}  // namespace

void TimelineWriter::Begin() {
  if (timeline_ == nullptr) return;
  timeline_->begin = Timeline::Now();
  timeline_->waits_for_each = !device_.IsHost();
  if (device_.IsHost() || !timeline_->no_log.empty()) return;
  const auto log = device_.Log();
  if (!log || *log == nullptr) {
    timeline_->no_log = log ? "this device has no log" : log.error().message();
    return;
  }
  if (Status begun = (*log)->Begin(); !begun) {
    timeline_->no_log = begun.error().message();
    return;
  }
  log_ = *log;
  timeline_->log = log_->name();
  timeline_->waits_for_each = false;
}

void TimelineWriter::End() {
  ActivityLog* const log = std::exchange(log_, nullptr);
  if (log == nullptr) return;
  const Result<Activities> told = log->End();
  if (!told) Fails(told.error());
  else Sort(*told);
  if (!timeline_->is_lost) return;
  timeline_->events.clear();
  timeline_->trips.clear();
}

// An activity outside the pieces of its graph belongs to a node that the driver adds for conditions, and counts as
// waiting. An activity without a launch belongs to its graph's last earlier launch.
void TimelineWriter::Sort(const Activities& told) {
  timeline_->dropped += static_cast<int64_t>(told.dropped);
  std::tie(timeline_->least_mhz, timeline_->most_mhz, timeline_->memory_mhz) =
      std::tuple(told.least_mhz, told.most_mhz, told.memory_mhz);
  std::vector<GraphRun> graphs;
  for (const Launched& launched : launched_) {
    if (launched.pieces != nullptr) graphs.emplace_back(*launched.pieces, *timeline_);
  }
  const auto launch_of = [&](const Activity& one) {
    if (one.launch > 0 && one.launch <= launched_.size())
      return launched_.begin() + static_cast<int64_t>(one.launch) - 1;
    auto found = launched_.end();
    for (auto at = launched_.begin(); at != launched_.end() && one.piece >= 0; ++at) {
      if (at->pieces != nullptr && graphs[at->event.graph].Has(one) && at->event.queued <= one.begin) found = at;
    }
    return found;
  };
  bool any = false;
  for (const Activity& one : told.all) {
    const auto launched = launch_of(one);
    if (launched == launched_.end()) continue;
    TimelineEvent& event = launched->event;
    any = true;
    if (launched->pieces == nullptr) {
      event.begin = event.end == 0 ? one.begin : std::min(event.begin, one.begin);
      event.end = std::max(event.end, one.end);
    } else if (graphs[event.graph].Has(one)) {
      graphs[event.graph].Add(one);
    } else {
      TimelineEvent beside = event;
      std::tie(beside.kind, beside.begin, beside.end) = std::tuple(TimelineEvent::Kind::kWait, one.begin, one.end);
      timeline_->events.push_back(beside);
    }
  }
  if ((!any && !launched_.empty()) || std::ranges::any_of(graphs, &GraphRun::is_empty))
    return Fails(
        DeviceError("R017", Str(timeline_->log, " has no records of the launches, or of the nodes of a graph")));
  for (Launched& launched : launched_) {
    TimelineEvent& event = launched.event;
    if (launched.pieces != nullptr) {
      graphs[event.graph].AddEvents(event);
      continue;
    }
    if (event.end == 0) event.begin = event.end = event.queue_end;
    timeline_->events.push_back(event);
  }
  std::ranges::stable_sort(timeline_->events, {}, &TimelineEvent::begin);
}

bool TimelineWriter::IsFull() {
  if (timeline_->events.size() < timeline_->most_events) return false;
  ++timeline_->dropped;
  return true;
}

void TimelineWriter::Fails(const Error& error) {
  if (timeline_->no_log.empty()) timeline_->no_log = error.message();
  timeline_->is_lost = true;
}

void TimelineWriter::Enter(TimelineEvent event, std::shared_ptr<const RecordedPieces> pieces) {
  event.trip = trip_;
  event.queued = Timeline::Now();
  launched_.push_back({event, std::move(pieces)});
  if (Status entered = log_->Enter(launched_.size()); !entered) Fails(entered.error());
}

void TimelineWriter::Leave() {
  launched_.back().event.queue_end = Timeline::Now();
  if (Status left = log_->Leave(); !left) Fails(left.error());
}

int TimelineWriter::BeginTrip(const LoopStep& step) {
  const int outer = trip_;
  if (timeline_ == nullptr || timeline_->trips.size() >= timeline_->most_events) return outer;
  trip_ = static_cast<int>(timeline_->trips.size());
  timeline_->trips.push_back({step.loop->id(), step.iteration, outer});
  timeline_->trips.back().begin = Timeline::Now();
  return outer;
}

void TimelineWriter::EndTrip(int outer, bool ran) {
  if (trip_ == outer) return;
  TimelineTrip& trip = timeline_->trips[trip_];
  trip.ran = ran;
  trip.end = Timeline::Now();
  trip_ = outer;
}

Status TimelineWriter::Replay(const Recording& recording, const std::shared_ptr<const RecordedPieces>& pieces) {
  if (log_ == nullptr) return device_.Replay(recording);
  Enter({.graph = graphs_++}, pieces);
  TRY(device_.Replay(recording));
  Leave();
  return {};
}

void TimelineWriter::BeginRecording() {
  if (log_ == nullptr) return;
  static std::atomic<int64_t> recordings = 0;
  making_ = std::make_shared<RecordedPieces>(RecordedPieces{.first = recordings++ << 32});
  recorded_trip_ = -1;
}

int64_t TimelineWriter::Name(TimelineEvent event) {
  if (making_ == nullptr) return -1;
  const int64_t piece = making_->first + std::ssize(making_->pieces);
  making_->pieces.push_back({event, recorded_trip_});
  NameAs(piece);
  return piece;
}

void TimelineWriter::NameAs(int64_t piece) {
  if (making_ == nullptr || piece < 0) return;
  if (Status named = log_->NameRecorded(piece); !named) Fails(named.error());
}

int TimelineWriter::EnterTrip(int loop, int64_t number, int64_t begins) {
  const int outer = recorded_trip_;
  if (making_ == nullptr) return outer;
  recorded_trip_ = static_cast<int>(making_->trips.size());
  making_->trips.push_back({.loop = loop, .number = number, .parent = outer, .begins = begins});
  return outer;
}

}  // namespace hlo::gpu
