#include "ir/analysis/recurrent_loop.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/text.h"
#include "ir/analysis/cost.h"
#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo {
namespace {

constexpr int64_t kMostTrips = int64_t{1} << 31;
constexpr int64_t kMostRows = 64;  // More rows keep the device busy in separate launches.
constexpr int64_t kMostRowsOfThread = 8;
constexpr int64_t kMostSums = 8;
constexpr int64_t kLeastTermsOfSum = 16;
constexpr int kMostBlocks = 8;  // Every device with clusters supports 8.
constexpr int64_t kThreads = 512;
constexpr int kLeastWithClusters = 90;

// A time model: a gather (two cluster barriers around a copy), a phase of a block, a small library product without its
// launch, and the reached share of the multiply-add rate.
constexpr double kGatherSeconds = 2e-6, kPhaseSeconds = 3e-7, kCallSeconds = 3e-6, kReached = 0.5;

bool IsOneElement(const Shape& shape) { return shape.IsArray() && shape.NumElements() == 1; }

int64_t Padded(int64_t bytes) { return (bytes + 15) / 16 * 16; }

bool IsFactor(PrimitiveType type) {
  return type == PrimitiveType::kF32 || type == PrimitiveType::kBF16 || type == PrimitiveType::kF16;
}

// The dependence of elements on values that are distributed by columns.
enum class Keeps : uint8_t {
  kAll,      // No element depends on columns.
  kPlaces,   // Each element depends on elements at the same place.
  kColumns,  // Each element depends on elements of the same column.
  kNothing,
};

using Updates = std::unordered_set<const Instruction*>;

class Follower {
 public:
  // `in_columns` has an entry for each operand. `dot`, if not null, is distributed by columns, too.
  Follower(const Instruction& fusion, int64_t period, const Instruction* dot, const std::vector<bool>& in_columns,
           const Updates& updates)
      : period_(period), dot_(dot), in_columns_(in_columns), updates_(updates) {
    for (const Instruction* inst : FusedComputation(fusion).PostOrder()) {
      if (!inst->Is(Opcode::kTuple)) keeps_[inst] = Follow(*inst);
    }
  }

  Keeps KeepsOf(const Instruction& inst) const { return keeps_.at(&inst); }

 private:
  Keeps Follow(const Instruction& inst) const {
    if (inst.Is(Opcode::kParameter)) return in_columns_[inst.parameter_number()] ? Keeps::kPlaces : Keeps::kAll;
    if (&inst == dot_) return Keeps::kPlaces;
    Keeps least = Keeps::kAll;
    for (const Instruction* operand : inst.operands()) least = std::max(least, keeps_.at(operand));
    if (updates_.contains(&inst)) return TakesRows(inst, 2) ? KeepsOf(inst.operand(1)) : Keeps::kNothing;
    if (least == Keeps::kAll || least == Keeps::kNothing) return least;
    if (!inst.shape().IsArray() || !inst.shape().HasDefaultLayout()) return Keeps::kNothing;
    const bool renames = inst.Is(kView) || inst.Is(Opcode::kCopy);
    if (inst.Is(kElementwise) || (renames && inst.shape().NumElements() == inst.operand(0).shape().NumElements()))
      return least;
    return KeepsColumns(inst) ? Keeps::kColumns : Keeps::kNothing;
  }

  bool HasPeriods(const Shape& shape) const {
    return shape.rank() > 0 && shape.dim(shape.rank() - 1) % period_ == 0 && shape.HasDefaultLayout();
  }

  bool KeepsColumns(const Instruction& inst) const {
    if (inst.operand_count() == 0 || !HasPeriods(inst.shape()) || !HasPeriods(inst.operand(0).shape())) return false;
    if (inst.Is(Opcode::kConcatenate))
      return std::ranges::all_of(inst.operands(), [&](const auto* operand) { return HasPeriods(operand->shape()); });
    const int64_t last = inst.shape().rank() - 1;
    const Shape& from = inst.operand(0).shape();
    switch (inst.opcode()) {
      case Opcode::kSlice: {
        const SliceDim& dim = inst.attrs<SliceAttrs>().slice.dims[last];
        return dim.start % period_ == 0 && dim.stride == 1;
      }
      case Opcode::kBroadcast: {
        const auto& dims = inst.attrs<DimensionsAttrs>().dimensions;
        return dims.back() == last && from.dim(from.rank() - 1) == inst.shape().dim(last);
      }
      case Opcode::kDynamicSlice: return TakesRows(inst, 1) && from.dim(last) == inst.shape().dim(last);
      default: return false;
    }
  }

  bool TakesRows(const Instruction& inst, int64_t first) const {
    for (int64_t i = first; i < inst.operand_count(); ++i) {
      if (KeepsOf(inst.operand(i)) != Keeps::kAll) return false;
    }
    return true;
  }

  const int64_t period_;
  const Instruction* const dot_;
  const std::vector<bool>& in_columns_;
  const Updates& updates_;
  std::unordered_map<const Instruction*, Keeps> keeps_;
};

class Finder {
 public:
  Finder(const Instruction& loop, std::string* why_not)
      : body_(*loop.attrs<WhileAttrs>().body), state_(body_.parameter(0)), why_not_(*why_not) {
    found_.loop = &loop;
  }

  std::optional<RecurrentLoop> Find() {
    if (!FindState() || !FindLaunches()) return std::nullopt;
    if (found_.gathered.empty()) {
      No("its body does not multiply its state by weights");
      return std::nullopt;
    }
    const int64_t of_products = PeriodOfProducts();
    for (const int64_t period : {of_products, std::gcd(of_products, PeriodOfState())}) {
      if (FitsIn(period)) return std::move(found_);
    }
    return std::nullopt;
  }

 private:
  using Element = RecurrentLoop::Element;

  bool No(std::string why) {
    why_not_ = std::move(why);
    return false;
  }

  // ---- State --------------------------------------------------------------------------------------------------------

  bool FindState() {
    const Instruction& loop = *found_.loop;
    if (!loop.shape().IsTuple() || !body_.root().Is(Opcode::kTuple)) return No("its state is not a tuple");
    const auto trips = TripCount(loop);
    if (!trips || *trips < 1 || *trips > kMostTrips) return No("its trip count is unknown or too large");
    found_.trips = *trips;
    for (int64_t i = 0; i < body_.root().operand_count(); ++i) {
      const Shape& shape = loop.shape().element(i);
      if (!shape.IsArray() || IsComplex(shape.type()) || !shape.HasDefaultLayout() || shape.HasDynamicDims() ||
          shape.NumElements() == 0)
        return No(Str("element ", i, " of its state is not a real, static, nonempty array in row-major order"));
      found_.state.push_back(ElementAt(i, shape));
    }
    return true;
  }

  Element ElementAt(int64_t i, const Shape& shape) {
    const Instruction& next = WithoutNames(body_.root().operand(i));
    if (next.Is(Opcode::kGetTupleElement) && &next.operand(0) == &state_ && next.tuple_index() == i)
      return Element::kUnchanged;
    if (IsOneElement(shape)) return Element::kNumber;
    return IsFilled(i, next) ? Element::kFilled : Element::kColumns;
  }

  bool IsFilled(int64_t i, const Instruction& next) {
    const bool is_element = next.Is(Opcode::kGetTupleElement);
    const Instruction& maker = is_element ? next.operand(0) : next;
    const int64_t root = is_element ? next.tuple_index() : 0;
    if (!IsKernel(maker)) return false;
    const auto updated = CanUpdateInPlace(maker, root);
    if (!updated) return false;
    const Instruction& read = maker.operand(*updated);
    if (!IsStateElement(read, i) || read.UseCount() != 1) return false;
    const auto names = state_.users();
    if (std::ranges::count_if(names, [&](const Instruction* user) { return IsStateElement(*user, i); }) != 1)
      return false;
    updates_.insert(FusionRoots(maker)[root]);
    return true;
  }

  bool IsStateElement(const Instruction& inst, int64_t i) const {
    return inst.Is(Opcode::kGetTupleElement) && &inst.operand(0) == &state_ && inst.tuple_index() == i;
  }

  // ---- Launches of the body -----------------------------------------------------------------------------------------

  bool FindLaunches() {
    for (const Instruction* inst : body_.PostOrder()) {
      if (!inst->control_predecessors().empty()) return No("its body has control dependencies");
      if (inst->Is(Opcode::kParameter) || inst->Is(Opcode::kConstant) || inst->IsRoot()) continue;
      if (inst->Is(Opcode::kGetTupleElement) || inst->Is(Opcode::kBitcast)) {
        const Instruction& from = inst->operand(0);
        const bool carried = &from == &state_ && (found_.state[inst->tuple_index()] == Element::kColumns ||
                                                  found_.state[inst->tuple_index()] == Element::kFilled);
        if (carried || in_columns(from)) found_.in_columns.insert(inst);
        continue;
      }
      if (!FindLaunch(*inst)) return false;
    }
    return !found_.products.empty() || No("its body does not multiply its state by weights");
  }

  bool FindLaunch(const Instruction& inst) {
    const auto operands = inst.operands();
    const bool hangs = std::ranges::any_of(operands, [&](const auto* operand) { return in_columns(*operand); });
    if (LibraryOf(inst) == "gemm") {
      if (!FindProduct(inst)) return false;
    } else if (!inst.Is(Opcode::kCopy) && !(IsKernel(inst) && inst.attrs<FusionAttrs>().kind == FusionKind::kLoop)) {
      return No(Str("'", inst.name(), "' in its body is neither a product nor an elementwise kernel"));
    }
    if (hangs || LibraryOf(inst) == "gemm") found_.in_columns.insert(&inst);
    const bool small = std::ranges::all_of(RootShapes(inst), [](const Shape* shape) { return IsOneElement(*shape); });
    found_.launches += !small;
    return true;
  }

  static std::vector<const Shape*> RootShapes(const Instruction& inst) {
    if (!inst.shape().IsTuple()) return {&inst.shape()};
    std::vector<const Shape*> shapes;
    for (const Shape& element : inst.shape().elements()) shapes.push_back(&element);
    return shapes;
  }

  bool FindProduct(const Instruction& call) {
    RecurrentLoop::Product product{.call = &call};
    for (const Instruction* inst : FusedComputation(call).instructions()) {
      if (!inst->Is(Opcode::kDot)) continue;
      if (product.dot != nullptr) return No(Str("'", call.name(), "' has two products"));
      product.dot = inst;
    }
    if (product.dot == nullptr) return No(Str("'", call.name(), "' has no product"));
    const Instruction& dot = *product.dot;
    const auto& attrs = dot.attrs<DotAttrs>();
    const bool is_turned = dot.operand(0).shape().rank() == 2 && dot.operand(1).shape().rank() == 1;
    const Instruction &left = dot.operand(is_turned ? 1 : 0), &weights = dot.operand(is_turned ? 0 : 1);
    const auto& of_left = is_turned ? attrs.rhs_contracting : attrs.lhs_contracting;
    const auto& of_weights = is_turned ? attrs.lhs_contracting : attrs.rhs_contracting;
    const int64_t last = left.shape().rank() - 1;
    const bool plain = attrs.lhs_batch.empty() && (last == 0 || last == 1) && of_left == std::vector<int64_t>{last} &&
                       of_weights.size() == 1 && weights.shape().rank() == 2 &&
                       attrs.algorithm == DotAlgorithm::kUnset && attrs.sparsity == SparsityConfig() &&
                       left.Is(Opcode::kParameter) && weights.Is(Opcode::kParameter) && call.shape().IsArray();
    if (!plain) return No(Str("'", call.name(), "' is not a [rows,terms] x [terms,columns] product"));
    if (!IsFactor(left.shape().type()) || !IsFactor(weights.shape().type()) || !IsFactor(dot.shape().type()))
      return No(Str("'", call.name(), "' has other types than f32, bf16 and f16"));
    product.left = left.parameter_number();
    product.weights = weights.parameter_number();
    product.weights_by_column = of_weights[0] == 1;
    product.weights_shape = &weights.shape();
    product.rows = last == 0 ? 1 : left.shape().dim(0);
    product.terms = left.shape().dim(last);
    product.columns = dot.shape().dim(dot.shape().rank() - 1);
    if (product.terms < 2) return No(Str("'", call.name(), "' adds up fewer than two terms"));
    if (product.rows > kMostRows) return No(Str("'", call.name(), "' has more than ", kMostRows, " rows"));
    const Instruction& operand = WithoutNames(call.operand(product.weights));
    const bool stays =
        operand.Is(Opcode::kConstant) || (operand.Is(Opcode::kGetTupleElement) && &operand.operand(0) == &state_ &&
                                          found_.state[operand.tuple_index()] == Element::kUnchanged);
    if (!stays) return No(Str("the weights of '", call.name(), "' change from trip to trip"));
    const Instruction& gathered = WithoutNames(call.operand(product.left));
    if (in_columns(gathered)) {
      product.gathered = &gathered;
      if (std::ranges::count(found_.gathered, &gathered) == 0) found_.gathered.push_back(&gathered);
    }
    found_.products.push_back(product);
    return true;
  }

  bool in_columns(const Instruction& inst) const { return found_.in_columns.contains(&inst); }

  // ---- Columns ------------------------------------------------------------------------------------------------------

  // Tries to distribute as many values as possible, then as few as necessary.
  bool FitsIn(int64_t period) {
    found_.period = period;
    const auto needed = found_.in_columns;
    if (ShareOut() && CheckColumns()) return true;
    found_.in_columns = needed;
    return CheckColumns();
  }

  int64_t PeriodOfProducts() const {
    int64_t period = 0;
    for (const RecurrentLoop::Product& product : found_.products) {
      period = std::gcd(period, product.columns);
      if (product.gathered != nullptr) period = std::gcd(period, product.terms);
    }
    return period;
  }

  int64_t PeriodOfState() const {
    int64_t period = 0;
    for (size_t i = 0; i < found_.state.size(); ++i) {
      const Shape& shape = found_.loop->shape().element(static_cast<int64_t>(i));
      if (found_.state[i] == Element::kColumns) period = std::gcd(period, shape.dim(shape.rank() - 1));
    }
    return period;
  }

  // Distributes values of whole periods that do not depend on the state, unless a product needs them whole. Returns
  // false if another instruction would need them whole.
  bool ShareOut() {
    for (const Instruction* inst : body_.PostOrder()) {
      if (in_columns(*inst) || inst->IsRoot()) continue;
      const auto operands = inst->operands();
      const bool hangs = std::ranges::any_of(operands, [&](const auto* operand) { return in_columns(*operand); });
      const bool runs = IsFusion(*inst) || inst->Is(Opcode::kCopy);
      if (runs ? IsSharedOut(*inst) : hangs) found_.in_columns.insert(inst);
      else if (hangs) return false;
    }
    return true;
  }

  bool IsSharedOut(const Instruction& inst) const {
    const auto shapes = RootShapes(inst);
    const bool is_left = std::ranges::any_of(found_.products, [&](const RecurrentLoop::Product& product) {
      const Instruction& left = WithoutNames(product.call->operand(product.left));
      return &left == &inst || (left.Is(Opcode::kGetTupleElement) && &left.operand(0) == &inst);
    });
    return !is_left && std::ranges::all_of(shapes, [&](const Shape* shape) {
      return shape->IsArray() && shape->HasDefaultLayout() && shape->NumElements() % found_.period == 0;
    });
  }

  bool CheckColumns() {
    for (size_t i = 0; i < found_.state.size(); ++i) {
      if (found_.state[i] == Element::kColumns &&
          found_.loop->shape().element(static_cast<int64_t>(i)).NumElements() % found_.period != 0)
        return No(Str("the size of element ", i,
                      " of its state is not a multiple of "
                      "the greatest common divisor of the columns of the loop's products and state, ",
                      found_.period));
      const Instruction& next = body_.root().operand(static_cast<int64_t>(i));
      if (found_.state[i] == Element::kNumber && in_columns(next))
        return No(Str("element ", i,
                      " of its state is a single number that depends on values whose columns are spread over blocks"));
    }
    for (const Instruction* inst : body_.PostOrder()) {
      if (in_columns(*inst) && (IsFusion(*inst) || inst->Is(Opcode::kCopy)) && !CheckLaunch(*inst)) return false;
    }
    return true;
  }

  bool CheckLaunch(const Instruction& inst) {
    if (inst.Is(Opcode::kCopy)) return true;
    for (const Instruction* root : FusionRoots(inst)) {
      const Shape& written = (updates_.contains(root) ? root->operand(1) : *root).shape();
      if (written.NumElements() % found_.period != 0)
        return No(Str("the size of a result of '", inst.name(),
                      "' is not a multiple of "
                      "the greatest common divisor of the columns of the loop's products and state, ",
                      found_.period));
    }
    std::vector<bool> of_operands;
    for (const Instruction* operand : inst.operands()) of_operands.push_back(in_columns(*operand));
    const RecurrentLoop::Product* const product = found_.ProductOf(inst);
    const Follower follower(inst, found_.period, product != nullptr ? product->dot : nullptr, of_operands, updates_);
    for (const Instruction* root : FusionRoots(inst)) {
      const Keeps keeps = follower.KeepsOf(*root);
      if (keeps == Keeps::kNothing || (product != nullptr && keeps != Keeps::kPlaces))
        return No(Str("'", inst.name(), "' reads state at other columns than it writes"));
    }
    return true;
  }

  const Computation& body_;
  const Instruction& state_;
  std::string& why_not_;
  RecurrentLoop found_;
  Updates updates_;
};

double FlopsOf(const RecurrentLoop::Product& product) {
  return 2.0 * static_cast<double>(product.rows * product.terms * product.columns);
}

double WeightBytes(const RecurrentLoop::Product& product) {
  return static_cast<double>(product.weights_shape->ByteSize());
}

}  // namespace

const Instruction& WithoutNames(const Instruction& inst) {
  const Instruction* value = &inst;
  while (value->Is(Opcode::kBitcast)) value = &value->operand(0);
  return *value;
}

const RecurrentLoop::Product* RecurrentLoop::ProductOf(const Instruction& call) const {
  const auto found = std::ranges::find(products, &call, &Product::call);
  return found == products.end() ? nullptr : &*found;
}

std::optional<RecurrentLoop> RecurrentLoopOf(const Instruction& loop, std::string* why_not) {
  return Finder(loop, why_not).Find();
}

ProductSplit SplitOf(const RecurrentLoop::Product& product, int blocks, int64_t warps) {
  ProductSplit split;
  for (split.rows = std::min(product.rows, kMostRowsOfThread); product.rows % split.rows != 0;) --split.rows;
  const int64_t parts = (product.columns / blocks + 31) / 32 * (product.rows / split.rows);
  while (2 * split.sums * parts <= warps && 2 * split.sums <= kMostSums && product.terms % (8 * split.sums) == 0 &&
         product.terms / (2 * split.sums) >= kLeastTermsOfSum)
    split.sums *= 2;
  return split;
}

int64_t SharedBytes(const RecurrentLoop& loop, int blocks, int64_t warps) {
  int64_t bytes = 0, sums = 0;
  for (const RecurrentLoop::Product& product : loop.products) {
    bytes += Padded(product.weights_shape->ByteSize() / blocks);
    sums = std::max(sums, SplitOf(product, blocks, warps).sums * product.rows * product.columns / blocks * 4);
  }
  bytes += Padded(sums);
  // A gathered value is stored before and after gathering. For state, the first copy counts below.
  for (const Instruction* value : loop.gathered) {
    const bool is_state = value->Is(Opcode::kGetTupleElement) && value->operand(0).Is(Opcode::kParameter);
    bytes += (is_state ? 1 : 2) * Padded(value->shape().ByteSize());
  }
  for (size_t i = 0; i < loop.state.size(); ++i) {
    if (loop.state[i] == RecurrentLoop::Element::kColumns)
      bytes += Padded(loop.loop->shape().element(static_cast<int64_t>(i)).ByteSize());
  }
  for (const Instruction* inst : loop.loop->attrs<WhileAttrs>().body->PostOrder()) {
    if ((!IsFusion(*inst) && !inst->Is(Opcode::kCopy)) || loop.in_columns.contains(inst)) continue;
    ForEachLeaf(inst->shape(), [&](const ShapeIndex&, const Shape& shape) {
      if (!IsOneElement(shape)) bytes += Padded(shape.ByteSize());
    });
  }
  return bytes;
}

double SecondsOfTrip(const RecurrentLoop& loop, int blocks, const DeviceDescription& device) {
  const double rate = kReached * device.dot_rates[static_cast<int>(DotWidth::k32)] * blocks / device.multiprocessors;
  double seconds = kPhaseSeconds * loop.launches;
  if (blocks > 1) seconds += kGatherSeconds * static_cast<double>(loop.gathered.size());
  for (const RecurrentLoop::Product& product : loop.products) {
    seconds += FlopsOf(product) / rate;
    if (blocks == 1) seconds += WeightBytes(product) / (device.cache_rate / device.multiprocessors);
  }
  return seconds;
}

double SecondsOfLaunches(const RecurrentLoop& loop, const DeviceDescription& device) {
  double seconds = device.launch_seconds * loop.launches;
  for (const RecurrentLoop::Product& product : loop.products) {
    const auto width = BitWidth(product.weights_shape->type()) == 16 ? DotWidth::k16 : DotWidth::k32;
    seconds += kCallSeconds + std::max(FlopsOf(product) / device.dot_rates[static_cast<int>(width)],
                                       WeightBytes(product) / device.cache_rate);
  }
  return seconds;
}

std::optional<ClusterShape> ClusterFor(const RecurrentLoop& loop, const DeviceDescription& device,
                                       std::string* why_not) {
  if (!device.is_gpu || device.compute_capability < kLeastWithClusters || !device.shared_memory_bytes) {
    *why_not = "the device has no clusters of blocks";
    return std::nullopt;
  }
  int blocks = kMostBlocks;
  while (blocks > 1 && loop.period % blocks != 0) blocks /= 2;
  if (blocks == 1) {
    *why_not = Str("its ", loop.period, " units cannot be divided equally among 2, 4 or 8 blocks");
    return std::nullopt;
  }
  const int64_t bytes = SharedBytes(loop, blocks, kThreads / 32);
  if (bytes > *device.shared_memory_bytes) {
    *why_not = Str("each of ", blocks, " blocks would need ", bytes,
                   " bytes of shared memory for weights and state, but has only ", *device.shared_memory_bytes);
    return std::nullopt;
  }
  if (SecondsOfTrip(loop, blocks, device) >= SecondsOfLaunches(loop, device)) {
    *why_not = "its products are faster on the whole device, with one launch each";
    return std::nullopt;
  }
  if (SecondsOfTrip(loop, blocks, device) >= SecondsOfTrip(loop, 1, device)) {
    *why_not = "one block computes its products faster than several blocks that synchronize";
    return std::nullopt;
  }
  return ClusterShape{blocks, kThreads};
}

}  // namespace hlo
