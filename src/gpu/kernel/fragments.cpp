// The part of KernelBuilder for matrices of a warp (builder.h, mma.h).
#include <array>

#include "base/check.h"
#include "gpu/kernel/builder.h"
#include "gpu/kernel/mma.h"

namespace hlo::kernel {

FragmentKind Fragment::kind() const { return *slot_.builder_->kernel_.slots[slot_.id_].fragment; }

void Fragment::Set(int element, Value value) const {
  const bool rounds = kind().shape == MmaShape::kTF32 && kind().role != FragmentRole::kSum;
  slot_.Set(element, rounds ? slot_.builder_->Record(Op::kRoundTf32, value.type(), {value}) : value);
}

Value Fragment::Row(int element) const {
  const FragmentLayout layout = LayoutOf(kind());
  const Value lane = slot_.builder_->lane();
  return lane / 4 * layout.group.row + lane % 4 * layout.member.row + ElementOffset(kind(), element).row;
}

Value Fragment::Column(int element) const {
  const FragmentLayout layout = LayoutOf(kind());
  const Value lane = slot_.builder_->lane();
  return lane / 4 * layout.group.column + lane % 4 * layout.member.column + ElementOffset(kind(), element).column;
}

void KernelBuilder::MakeFragment(FragmentKind kind, Fragment& fragment) {
  fragment.slot_ = MakeSlot(ElementType(kind), LaneElements(kind));
  kernel_.slots[fragment.slot_.id_].fragment = kind;
}

LeftFragment KernelBuilder::MakeLeft(MmaShape shape) {
  LeftFragment fragment;
  MakeFragment({shape, FragmentRole::kLeft}, fragment);
  return fragment;
}

RightFragment KernelBuilder::MakeRight(MmaShape shape) {
  RightFragment fragment;
  MakeFragment({shape, FragmentRole::kRight}, fragment);
  return fragment;
}

SumFragment KernelBuilder::MakeSum(MmaShape shape) {
  SumFragment fragment;
  MakeFragment({shape, FragmentRole::kSum}, fragment);
  return fragment;
}

void KernelBuilder::Fill(SumFragment sum, Value value) {
  Phase([&] {
    for (int element = 0; element < sum.width(); ++element) sum.Set(element, value);
  });
}

void KernelBuilder::LoadFragment(const Fragment& to, Array from, Value index, int64_t pitch, MatrixOrder order) {
  CHECK(level() == Level::kWarp, "LoadFragment outside warp level");
  CHECK(to.type() == from.type(), "a matrix of ", ToString(to.type()), " from '", kernel_.arrays[from.id_].name,
        "' of ", ToString(from.type()));
  Instruction& load = Append(Op::kLoadFragment, from.type(), std::array{index, Index(pitch)});
  load.imm = from.id_;
  load.imm2 = order == MatrixOrder::kColumnMajor;
  load.slots = {to.slot_.id_};
}

void KernelBuilder::Mma(SumFragment sum, LeftFragment left, RightFragment right) {
  CHECK(level() == Level::kWarp, "Mma outside warp level");
  const MmaShape shape = sum.kind().shape;
  CHECK(left.kind().shape == shape && right.kind().shape == shape, "Mma of ", InfoOf(left.kind().shape).text, " and ",
        InfoOf(right.kind().shape).text, " to ", InfoOf(shape).text);
  Instruction& mma = Append(Op::kMma, sum.type(), {});
  mma.imm = static_cast<int64_t>(shape);
  mma.slots = {sum.slot_.id_, left.slot_.id_, right.slot_.id_};
}

}  // namespace hlo::kernel
