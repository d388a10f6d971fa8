#include "gpu/libraries/attention_gradient.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "gpu/libraries/contraction.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/reducer.h"

namespace hlo::gpu {
namespace {

using Dims = std::vector<int64_t>;

const Instruction& WithoutConverts(const Instruction& inst) {
  const Instruction* at = &inst;
  while (at->Is(Opcode::kConvert) && IsFloat(at->shape().type()) && IsFloat(at->operand(0).shape().type()))
    at = &at->operand(0);
  return *at;
}

std::optional<double> ConstantOf(const Instruction& inst) {
  const auto view = ReadView(WithoutConverts(inst), /*rounded=*/true);
  if (!view || view->operand >= 0) return std::nullopt;
  return view->constant;
}

// A batched dot: batch dimensions, then one free dimension of each operand.
struct Product {
  const Instruction* dot = nullptr;
  int64_t batch = 0;
  std::array<int64_t, 2> free{};

  const Dims& BatchOf(int number) const {
    const auto& attrs = dot->attrs<DotAttrs>();
    return number == 0 ? attrs.lhs_batch : attrs.rhs_batch;
  }
  int64_t SummedOf(int number) const {
    const auto& attrs = dot->attrs<DotAttrs>();
    return (number == 0 ? attrs.lhs_contracting : attrs.rhs_contracting).front();
  }
};

std::optional<Product> ProductOf(const Instruction& dot) {
  const auto& attrs = dot.attrs<DotAttrs>();
  Product product{.dot = &dot, .batch = std::ssize(attrs.lhs_batch)};
  if (product.batch < 1 || product.batch > 2 || dot.shape().rank() != product.batch + 2 ||
      attrs.lhs_contracting.size() != 1)
    return std::nullopt;
  for (const int number : {0, 1}) {
    const Dims& batch = product.BatchOf(number);
    if (dot.operand(number).shape().rank() != product.batch + 2) return std::nullopt;
    while (std::ranges::find(batch, product.free[number]) != batch.end() ||
           product.free[number] == product.SummedOf(number))
      ++product.free[number];
  }
  return product;
}

class Reader {
 public:
  explicit Reader(const Instruction& fusion) : fusion_(fusion) {}

  AttentionGradientAnswer Read() {
    AttentionGradientAnswer answer;
    if (ReadAll()) answer.problem = std::move(problem_);
    else answer.why_not = why_not_;
    return answer;
  }

 private:
  bool No(std::string why) {
    why_not_ = std::move(why);
    return false;
  }

  bool ReadAll() {
    if (!IsFusion(fusion_)) return No("it is not a fusion");
    std::vector<Product> inner, outer;
    std::vector<const Instruction*> dots;
    for (const Instruction* inst : FusedComputation(fusion_).PostOrder()) {
      if (!inst->Is(Opcode::kDot)) continue;
      const auto product = ProductOf(*inst);
      if (!product) return No("not all of its products multiply two batches of matrices");
      const bool is_outer = std::ranges::any_of(dots, [&](const Instruction* dot) { return DependsOn(*inst, *dot); });
      (is_outer ? outer : inner).push_back(*product);
      dots.push_back(inst);
    }
    if (inner.size() != 2 || outer.size() != 3)
      return No("it does not have two products, and three more products that depend on these");
    return ReadShares(inner, outer) && ReadSlopes(outer) && ReadTensors() && ReadResults();
  }

  bool ReadShares(const std::vector<Product>& inner, const std::vector<Product>& outer) {
    for (const Product& product : outer) {
      for (const int number : {0, 1}) {
        const Instruction& share = WithoutConverts(product.dot->operand(number));
        if (!share.Is(Opcode::kExp)) continue;
        of_value_ = product;
        share_number_ = number;
        share_ = &share;
      }
    }
    if (share_ == nullptr) return No("none of its products reads exponentials");
    const Instruction* at = &WithoutConverts(share_->operand(0));
    if (at->Is(Opcode::kSelect) && !ReadMask(&at)) return false;
    if (!at->Is(Opcode::kSubtract)) return No("it does not subtract statistics from its scores");
    const Instruction& spread = WithoutConverts(at->operand(1));
    const auto statistics = ReadView(spread);
    at = &WithoutConverts(at->operand(0));
    if (at->Is(Opcode::kSelect) && !ReadMask(&at)) return false;
    while (at->Is(Opcode::kMultiply)) {
      const int number = ConstantOf(at->operand(1)) ? 0 : 1;
      const auto factor = ConstantOf(at->operand(1 - number));
      if (!factor) return No("its scores are scaled by a value that is not a constant");
      problem_.scale *= *factor;
      at = &WithoutConverts(at->operand(number));
    }
    scores_ = at == inner[0].dot ? inner[0] : inner[1];
    slopes_ = at == inner[0].dot ? inner[1] : inner[0];
    if (at != scores_.dot)
      return No(Str("'", ToString(at->opcode()), "' is between its scores and their exponentials"));
    // The statistics do not depend on the key, so exactly one stride is 0.
    const int64_t first = scores_.batch, second = first + 1;
    if (!statistics || statistics->operand < 0 || statistics->type != PrimitiveType::kF32 ||
        (statistics->strides[first] == 0) == (statistics->strides[second] == 0))
      return No("its statistics are not one f32 for each query");
    query_dim_ = statistics->strides[first] == 0 ? second : first;
    key_dim_ = first + second - query_dim_;
    if (mask_query_dim_ >= 0 && mask_query_dim_ != query_dim_) return No("its mask hides queries instead of keys");
    problem_.statistics = Tensor(*statistics, Numbers(scores_.batch), query_dim_, -1);
    return true;
  }

  // Reads select(query >= key, value, constant).
  bool ReadMask(const Instruction** at) {
    const Instruction& select = **at;
    const auto other = ConstantOf(select.operand(2));
    const Instruction* keeps = &select.operand(0);
    Dims place = Numbers(select.shape().rank());
    const auto through_broadcasts = [](const Instruction* inst, Dims* dims) {
      while (inst->Is(Opcode::kBroadcast)) {
        Dims inner;
        for (const int64_t d : inst->dimensions()) inner.push_back((*dims)[d]);
        *dims = inner;
        inst = &inst->operand(0);
      }
      return inst;
    };
    keeps = through_broadcasts(keeps, &place);
    if (!other || problem_.masked || !keeps->Is(Opcode::kCompare)) return No("its mask does not compare positions");
    Dims lhs_place = place, rhs_place = place;
    const Instruction* const lhs = through_broadcasts(&keeps->operand(0), &lhs_place);
    const Instruction* const rhs = through_broadcasts(&keeps->operand(1), &rhs_place);
    if (!lhs->Is(Opcode::kIota) || !rhs->Is(Opcode::kIota)) return No("its mask does not compare positions");
    int64_t query = lhs_place[lhs->attrs<IotaAttrs>().iota_dimension];
    int64_t key = rhs_place[rhs->attrs<IotaAttrs>().iota_dimension];
    const ComparisonDirection direction = keeps->attrs<CompareAttrs>().direction;
    if (direction == ComparisonDirection::kLe) std::swap(query, key);
    else if (direction != ComparisonDirection::kGe)
      return No("its mask is not the causal mask, which hides the keys after a query");
    constexpr double kNothing = -1e6;  // A score of at most this value has a share of 0.
    if (*other > kNothing || query == key) return No("its mask does not give hidden scores a weight of 0");
    problem_.masked = other;
    mask_query_dim_ = query;
    *at = &WithoutConverts(select.operand(1));
    return true;
  }

  bool ReadSlopes(const std::vector<Product>& outer) {
    const Instruction* slope = nullptr;
    for (const Product& product : outer) {
      if (product.dot == of_value_.dot) continue;
      const int number = DependsOn(product.dot->operand(0), *slopes_.dot) ? 0 : 1;
      const Instruction& value = WithoutConverts(product.dot->operand(number));
      if (slope != nullptr && slope != &value)
        return No("the gradients of its queries and of its keys are computed from different gradients of its scores");
      slope = &value;
      const bool sums_queries = product.SummedOf(number) == query_dim_;
      (sums_queries ? of_key_ : of_query_) = product;
      (sums_queries ? key_slope_ : query_slope_) = number;
    }
    if (of_key_.dot == nullptr || of_query_.dot == nullptr)
      return No(
          "the gradients of its scores are not summed over the queries in one product and over the keys in another");
    std::vector<const Instruction*> pending = {slope};
    const Instruction* less = nullptr;
    int shares = 0;
    double scale = 1;
    while (!pending.empty()) {
      const Instruction& at = WithoutConverts(*pending.back());
      pending.pop_back();
      if (const auto factor = ConstantOf(at)) scale *= *factor;
      else if (&at == share_) ++shares;
      else if (at.Is(Opcode::kSubtract) && less == nullptr) less = &at;
      else if (at.Is(Opcode::kMultiply)) pending.insert(pending.end(), {&at.operand(0), &at.operand(1)});
      else return No(Str("'", ToString(at.opcode()), "' is part of the gradients of its scores"));
    }
    if (shares != 1 || less == nullptr || &WithoutConverts(less->operand(0)) != slopes_.dot)
      return No(
          "the gradients of its scores are not p * (dp - row sums), with p the softmax and dp the product of gradients "
          "and values");
    if (scale != problem_.scale) return No("the gradients of its scores have another scale than its scores");
    return ReadRowSums(WithoutConverts(less->operand(1)));
  }

  // Reads the sum over c of gradient * result, broadcast over the keys.
  bool ReadRowSums(const Instruction& spread) {
    if (!spread.Is(Opcode::kBroadcast))
      return No("the value subtracted from the gradients of its scores is not a sum for each query");
    const Instruction* sum = &WithoutConverts(spread.operand(0));
    Dims place = spread.dimensions();
    for (; sum->Is(Opcode::kTranspose); sum = &WithoutConverts(sum->operand(0))) {
      Dims inner(place.size());
      for (size_t d = 0; d < place.size(); ++d) inner[sum->dimensions()[d]] = place[d];
      place = inner;
    }
    const auto where = [&](int64_t dim) { return std::ranges::find(place, dim) - place.begin(); };
    Dims batch;
    for (int64_t d = 0; d < scores_.batch; ++d) batch.push_back(where(d));
    const int64_t query = where(query_dim_), rows = scores_.batch + 1;
    if (std::ssize(place) != rows || query == rows || std::ranges::find(batch, rows) != batch.end() ||
        !sum->Is(Opcode::kReduce) || sum->operand_count() != 2 || sum->shape().type() != PrimitiveType::kF32)
      return No("the value subtracted from the gradients of its scores is not a sum for each query");
    const auto& attrs = sum->attrs<ReduceAttrs>();
    const Instruction& terms = sum->operand(0);
    if (ReducerOp(*attrs.to_apply) != Opcode::kAdd || !sum->operand(1).IsConstantOf(0) ||
        attrs.dimensions != Dims{rows} || !terms.Is(Opcode::kMultiply))
      return No("the value subtracted from the gradients of its scores is not a sum of products");
    for (const int number : {0, 1}) {
      const auto view = ReadView(WithoutConverts(terms.operand(number)));
      if (!view || view->operand < 0) return No("an operand of its sum for each query is computed in the fusion");
      row_terms_[number] = Tensor(*view, batch, query, rows);
    }
    return true;
  }

  static Dims Numbers(int64_t count) {
    Dims numbers(count);
    for (int64_t d = 0; d < count; ++d) numbers[d] = d;
    return numbers;
  }

  // Four dimensions of a view. Index -1 means size 1.
  static AttentionTensor Tensor(const View& view, const Dims& batch, int64_t third, int64_t fourth) {
    AttentionTensor tensor{.operand = view.operand, .type = view.type};
    Dims order = {batch.size() == 2 ? batch[0] : -1, batch.back(), third, fourth};
    for (const int64_t d : order) {
      tensor.dims.push_back(d < 0 ? 1 : view.dims[d]);
      tensor.strides.push_back(d < 0 || view.dims[d] == 1 ? 0 : view.strides[d]);
    }
    return tensor;
  }

  bool Operand(const Product& product, int number, AttentionTensor* tensor, bool summed_last) {
    const auto view = ReadView(product.dot->operand(number));
    if (!view || view->operand < 0) return No("an operand of a product is computed in the fusion");
    const int64_t free = product.free[number], summed = product.SummedOf(number);
    *tensor = Tensor(*view, product.BatchOf(number), summed_last ? free : summed, summed_last ? summed : free);
    return true;
  }

  static bool IsSame(const AttentionTensor& a, const AttentionTensor& b) {
    return a.operand == b.operand && a.dims == b.dims && a.strides == b.strides;
  }

  bool ReadTensors() {
    const int query = query_dim_ == scores_.batch ? 0 : 1;  // The operand with the queries.
    AttentionTensor gradient, again_query, again_key;
    if (!Operand(scores_, query, &problem_.query, true) || !Operand(scores_, 1 - query, &problem_.key, true) ||
        !Operand(slopes_, query, &problem_.gradient, true) || !Operand(slopes_, 1 - query, &problem_.value, true) ||
        !Operand(of_value_, 1 - share_number_, &gradient, false) ||
        !Operand(of_key_, 1 - key_slope_, &again_query, false) ||
        !Operand(of_query_, 1 - query_slope_, &again_key, false))
      return false;
    const Dims in_order = Numbers(scores_.batch);
    if (of_value_.BatchOf(share_number_) != in_order || of_key_.BatchOf(key_slope_) != in_order ||
        of_query_.BatchOf(query_slope_) != in_order)
      return No("the products for its gradients have other batch dimensions than its scores");
    if (of_value_.SummedOf(share_number_) != query_dim_ || of_query_.SummedOf(query_slope_) != key_dim_ ||
        !IsSame(gradient, problem_.gradient) || !IsSame(again_query, problem_.query) ||
        !IsSame(again_key, problem_.key))
      return No(
          "the products for its gradients do not read the query, key and gradient of the result that its first two "
          "products read");
    const int first = IsSame(row_terms_[0], problem_.gradient) ? 0 : 1;
    if (!IsSame(row_terms_[first], problem_.gradient))
      return No("its sum for each query does not read the gradient of the result that its products read");
    problem_.result = row_terms_[1 - first];
    const bool fits =
        problem_.result.dims == problem_.gradient.dims && problem_.statistics.dims[2] == problem_.queries();
    return fits || No("the dimensions of its result, gradient of the result and statistics do not match");
  }

  bool ReadResults() {
    const Instruction& root = FusedComputation(fusion_).root();
    if (!root.Is(Opcode::kTuple) || root.operand_count() != 3) return No("it does not have three results");
    const std::array<const Product*, 3> products = {&of_query_, &of_key_, &of_value_};
    const std::array<int, 3> numbers = {query_slope_, key_slope_, share_number_};
    const std::array<AttentionTensor*, 3> tensors = {&problem_.of_query, &problem_.of_key, &problem_.of_value};
    for (int64_t i = 0; i < 3; ++i) {
      const Instruction* at = &root.operand(i);
      const Shape& shape = at->shape();
      Dims order = Numbers(shape.rank());
      while (at->Is(Opcode::kConvert) || at->Is(Opcode::kTranspose)) {
        if (at->Is(Opcode::kTranspose)) {
          Dims inner(order.size());
          for (size_t d = 0; d < order.size(); ++d) inner[at->dimensions()[d]] = order[d];
          order = inner;
        }
        at = &at->operand(0);
      }
      const auto found = std::ranges::find_if(products, [&](const Product* product) { return product->dot == at; });
      if (found == products.end()) return No("a result is not the gradient of its query, key or value");
      const auto which = found - products.begin();
      const Product& product = **found;
      const Dims lies = LayoutStrides(shape);
      View view{.operand = -1, .type = shape.type(), .dims = {}, .strides = {}};
      for (const int64_t d : order) {
        view.dims.push_back(shape.dim(d));
        view.strides.push_back(lies[d]);
      }
      const int64_t row = product.batch + numbers[which], column = product.batch + 1 - numbers[which];
      *tensors[which] = Tensor(view, Numbers(product.batch), row, column);
      problem_.numbers[which] = i;
    }
    return std::ranges::min(problem_.numbers) >= 0 || No("two of its results are the same gradient");
  }

  const Instruction& fusion_;
  AttentionGradientProblem problem_;
  std::string why_not_;
  const Instruction* share_ = nullptr;
  Product scores_, slopes_;  // Products of queries and keys, and of gradients and values.
  Product of_value_, of_key_, of_query_;
  int share_number_ = -1, key_slope_ = -1, query_slope_ = -1;
  AttentionTensor row_terms_[2];
  int64_t query_dim_ = -1, key_dim_ = -1, mask_query_dim_ = -1;  // Dimensions in the scores.
};

}  // namespace

AttentionGradientAnswer ReadAttentionGradient(const Instruction& fusion) { return Reader(fusion).Read(); }

}  // namespace hlo::gpu
