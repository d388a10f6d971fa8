#!/usr/bin/env python3
"""Writes an HLO module of about MEGABYTES: layers as JAX lowers them, each with metadata and a reducer.

    large_module.py MEGABYTES FILE.hlo
"""
import sys

LAYER = '''\
  %dot_general.{0}1 = f32[512,2048]{{1,0}} dot(%x.{1}, %w1), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, {2}dot_general" source_file="model/layers.py" source_line=41}}
  %broadcast.{0}2 = f32[512,2048]{{1,0}} broadcast(%bias), dimensions={{1}}, {2}broadcast_in_dim" source_file="model/layers.py" source_line=42}}
  %add.{0}3 = f32[512,2048]{{1,0}} add(%dot_general.{0}1, %broadcast.{0}2), {2}add" source_file="model/layers.py" source_line=42}}
  %logistic.{0}4 = f32[512,2048]{{1,0}} logistic(%add.{0}3), {2}logistic" source_file="model/layers.py" source_line=43}}
  %multiply.{0}5 = f32[512,2048]{{1,0}} multiply(%add.{0}3, %logistic.{0}4), {2}mul" source_file="model/layers.py" source_line=43}}
  %convert.{0}6 = bf16[512,2048]{{1,0}} convert(%multiply.{0}5), {2}convert_element_type" source_file="model/layers.py" source_line=44}}
  %convert.{0}7 = f32[512,2048]{{1,0}} convert(%convert.{0}6), {2}convert_element_type" source_file="model/layers.py" source_line=45}}
  %slice.{0}8 = f32[512,512]{{1,0}} slice(%convert.{0}7), slice={{[0:512], [512:1024]}}, {2}slice" source_file="model/layers.py" source_line=46}}
  %zero.{0}9 = f32[] constant(0)
  %reduce_sum.{0}10 = f32[512]{{0}} reduce(%slice.{0}8, %zero.{0}9), dimensions={{1}}, to_apply=%region_{0}, {2}reduce_sum" source_file="model/layers.py" source_line=47}}
  %reshape.{0}11 = f32[1,512]{{1,0}} reshape(%reduce_sum.{0}10), {2}reshape" source_file="model/layers.py" source_line=48}}
  %dot_general.{0}12 = f32[512,512]{{1,0}} dot(%convert.{0}7, %w2), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, {2}dot_general" source_file="model/layers.py" source_line=49}}
  %transpose.{0}13 = f32[512,512]{{0,1}} transpose(%dot_general.{0}12), dimensions={{1,0}}, {2}transpose" source_file="model/layers.py" source_line=50}}
  %maximum.{0}14 = f32[512,512]{{1,0}} maximum(%dot_general.{0}12, %transpose.{0}13), {2}max" source_file="model/layers.py" source_line=51}}
  %x.{0} = f32[512,512]{{1,0}} add(%maximum.{0}14, %x.{1}), {2}add" source_file="model/layers.py" source_line=52}}
'''
REGION = '''\
%region_{0} (a.{0}: f32[], b.{0}: f32[]) -> f32[] {{
  %a.{0} = f32[] parameter(0), {1}reduce_sum"}}
  %b.{0} = f32[] parameter(1), {1}reduce_sum"}}
  ROOT %sum.{0} = f32[] add(%a.{0}, %b.{0}), {1}reduce_sum"}}
}}

'''


def scope(layer):
    return f'metadata={{op_name="jit(train_step)/jvp(Model)/block_{layer % 96}/mlp_{layer}/'


def main(megabytes, path):
    layers = round(megabytes * 1e6 / (len(LAYER.format(1000, 999, scope(1000))) + len(REGION.format(1000, scope(1000)))))
    with open(path, 'w', encoding='ascii') as out:
        out.write('HloModule large_module\n\n')
        for layer in range(1, layers + 1):
            out.write(REGION.format(layer, scope(layer)))
        out.write('ENTRY %main (x.0: f32[512,512], w1: f32[512,2048], w2: f32[2048,512], bias: f32[2048]) -> f32[512,512] {\n'
                  '  %x.0 = f32[512,512]{1,0} parameter(0)\n'
                  '  %w1 = f32[512,2048]{1,0} parameter(1)\n'
                  '  %w2 = f32[2048,512]{1,0} parameter(2)\n'
                  '  %bias = f32[2048]{0} parameter(3)\n')
        for layer in range(1, layers + 1):
            out.write(LAYER.format(layer, layer - 1, scope(layer)))
        out.write(f'  ROOT %result = f32[512,512]{{1,0}} copy(%x.{layers})\n}}\n')


main(float(sys.argv[1]), sys.argv[2])
