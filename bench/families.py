"""Writes small programs, one function each: families of kernels, and everyday code, at sizes that take milliseconds.

    build/venv/bin/python bench/families.py build/families && bench/compare.py build/families/*.hlo
"""
import os
import sys

import jax
import jax.numpy as jnp

S = jax.ShapeDtypeStruct
f32, bf = jnp.float32, jnp.bfloat16


def lowered(name, function, *args):
    with open(os.path.join(sys.argv[1], name + '.hlo'), 'w') as file:
        file.write(jax.jit(function).lower(*args).as_text(dialect='hlo'))


if len(sys.argv) != 2:
    sys.exit(__doc__)
os.makedirs(sys.argv[1], exist_ok=True)
lowered('topk_vocab',lambda x: jax.lax.top_k(x,50),S((64,50304),f32))
lowered('topk_long',lambda x: jax.lax.top_k(x,10),S((1,2000000),f32))
lowered('argsort_rows',lambda x: jnp.argsort(x,axis=1),S((256,4096),f32))
lowered('sort_kv',lambda k,v: jax.lax.sort((k,v),num_keys=1),S((500000,),f32),S((500000,),jnp.int32))
lowered('fft1d',lambda x: jnp.abs(jnp.fft.fft(x))**2,S((64,4096),jnp.complex64))
lowered('fft2d',lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x)*2),S((8,256,256),f32))
lowered('fft_odd',lambda x: jnp.fft.fft(x),S((16,1009),jnp.complex64))
lowered('scan_assoc',lambda a,b: jax.lax.associative_scan(lambda p,q:(p[0]*q[0],q[0]*p[1]+q[1]),(a,b),axis=1),S((64,2048),f32),S((64,2048),f32))
lowered('cumsum_mid',lambda x: jnp.cumsum(x,axis=1),S((32,1024,64),f32))
lowered('cumlogsumexp',lambda x: jax.lax.cumlogsumexp(x,axis=1),S((256,2048),f32))
lowered('solve',lambda a,b: jax.scipy.linalg.solve_triangular(a,b,lower=True),S((512,512),f32),S((512,64),f32))
lowered('cholesky',lambda a: jnp.linalg.cholesky(a@a.T+1e4*jnp.eye(512)),S((512,512),f32))
lowered('attention',lambda q,k,v: jax.nn.dot_product_attention(q,k,v,is_causal=True),*[S((2,512,8,64),f32)]*3)
lowered('qdot',lambda a,b,s: jnp.einsum('mk,kn->mn',a,b,preferred_element_type=jnp.int32)*s,S((256,1024),jnp.int8),S((1024,1024),jnp.int8),S((1024,),f32))
lowered('normal',lambda k: jax.random.normal(k,(1024,1024)),S((2,),jnp.uint32))
lowered('choice',lambda k: jax.random.permutation(k,100000),S((2,),jnp.uint32))
lowered('one_hot_embed',lambda i,t: jax.nn.one_hot(i,512)@t,S((256,),jnp.int32),S((512,128),f32))
lowered('conv1d_dw',lambda x,k: jax.lax.conv_general_dilated(x,k,(1,),'SAME',dimension_numbers=('NWC','WIO','NWC'),feature_group_count=256),S((8,1024,256),f32),S((4,1,256),f32))
lowered('segment_sum',lambda x,i: jax.ops.segment_sum(x,i,1000),S((100000,32),f32),S((100000,),jnp.int32))
lowered('histogram',lambda x: jnp.histogram(x,bins=64,range=(-1,1))[0],S((1000000,),f32))
lowered('median',lambda x: jnp.median(x,axis=1),S((256,1001),f32))
lowered('groupnorm',lambda x,g: ((x.reshape(8,64,64,16,8)-x.reshape(8,64,64,16,8).mean((1,2,4),keepdims=True))*jax.lax.rsqrt(x.reshape(8,64,64,16,8).var((1,2,4),keepdims=True)+1e-5)).reshape(8,64,64,128)*g,S((8,64,64,128),f32),S((128,),f32))
lowered('maxpool_grad',jax.grad(lambda x: (jax.lax.reduce_window(x,-jnp.inf,jax.lax.max,(1,3,3,1),(1,2,2,1),'SAME')**2).sum()),S((8,112,112,64),f32))
lowered('avgpool',lambda x: jax.lax.reduce_window(x,0.,jax.lax.add,(1,3,3,1),(1,1,1,1),'SAME')/9,S((8,112,112,64),f32))
lowered('rmsnorm_grad',jax.grad(lambda x,g: ((x*jax.lax.rsqrt((x*x).mean(-1,keepdims=True)+1e-6)*g)**2).sum(),argnums=(0,1)),S((2048,1024),f32),S((1024,),f32))
lowered('rope',lambda x,c,s: jnp.concatenate([x[...,:32]*c-x[...,32:]*s,x[...,32:]*c+x[...,:32]*s],-1),S((4,512,16,64),f32),S((512,1,32),f32),S((512,1,32),f32))
lowered('moe_gather',lambda x,i,w: jnp.einsum('td,tdf->tf',x,w[i]),S((64,128),f32),S((64,),jnp.int32),S((8,128,256),f32))
lowered('newton',lambda x: jax.lax.fori_loop(0,200,lambda i,y:y-(y*y*y-x)/(3*y*y+1e-3),jnp.ones_like(x)),S((1000,),f32))
lowered('ode',lambda y: jax.lax.scan(lambda y,_:(y+1e-2*jnp.sin(y)@jnp.eye(16),y.sum()),y,None,length=1000),S((16,),f32))
lowered('layernorm_gelu',lambda x,g,b: jax.nn.gelu((x-x.mean(-1,keepdims=True))*jax.lax.rsqrt(x.var(-1,keepdims=True)+1e-5)*g+b),S((2048,768),f32),S((768,),f32),S((768,),f32))
lowered('logsoftmax_loss_grad',jax.grad(lambda x,y: -jnp.take_along_axis(jax.nn.log_softmax(x),y[:,None],1).mean()),S((512,10000),f32),S((512,),jnp.int32))
lowered('conv2d_nchw',lambda x,k: jax.lax.conv_general_dilated(x,k,(1,1),'SAME'),S((8,64,28,28),f32),S((64,64,3,3),f32))
lowered('conv_grad_w',lambda x,g: jax.vjp(lambda k: jax.lax.conv_general_dilated(x,k,(2,2),'SAME',dimension_numbers=('NHWC','HWIO','NHWC')),jnp.zeros((3,3,32,64),f32))[1](g)[0],S((8,56,56,32),f32),S((8,28,28,64),f32))
lowered('conv_transpose',lambda x,k: jax.lax.conv_transpose(x,k,(2,2),'SAME'),S((8,14,14,64),f32),S((4,4,64,32),f32))
lowered('conv1d',lambda x,k: jax.lax.conv_general_dilated(x,k,(1,),'SAME',dimension_numbers=('NWC','WIO','NWC')),S((8,1000,64),f32),S((5,64,128),f32))
lowered('upsample',lambda x: jax.image.resize(x,(8,64,64,32),'bilinear'),S((8,32,32,32),f32))
lowered('embed_grad',lambda g,i: jnp.zeros((10000,128),f32).at[i].add(g),S((4096,128),f32),S((4096,),jnp.int32))
lowered('gather_rows_2d',lambda x,i: jnp.take_along_axis(x,i,axis=1),S((1024,1024),f32),S((1024,64),jnp.int32))
lowered('dot_small_batch',lambda a,b: jnp.einsum('bij,bjk->bik',a,b),S((1024,16,16),f32),S((1024,16,16),f32))
lowered('dot_bf16_f32acc',lambda a,b: jnp.dot(a,b,preferred_element_type=f32),S((512,512),bf),S((512,512),bf))
lowered('dot_f64',lambda a,b: a@b,S((256,256),f32),S((256,256),f32))
lowered('outer_sum',lambda a,b: jnp.sum((a[:,None]-b[None])**2,-1),S((512,64),f32),S((512,64),f32))
lowered('cdist',lambda a,b: jnp.sqrt(jnp.maximum(jnp.sum(a*a,1)[:,None]+jnp.sum(b*b,1)[None]-2*a@b.T,0)),S((1000,64),f32),S((1000,64),f32))
lowered('where_nan',lambda x: jnp.nanmean(x,axis=0),S((10000,64),f32))
lowered('roll_stencil',lambda x: (jnp.roll(x,1,0)+jnp.roll(x,-1,0)+jnp.roll(x,1,1)+jnp.roll(x,-1,1)-4*x),S((1024,1024),f32))
lowered('heat_loop',lambda x: jax.lax.fori_loop(0,50,lambda i,x: x.at[1:-1,1:-1].add(.1*(x[2:,1:-1]+x[:-2,1:-1]+x[1:-1,2:]+x[1:-1,:-2]-4*x[1:-1,1:-1])),x),S((256,256),f32))
lowered('gru_scan',lambda x,h,w,u: jax.lax.scan(lambda h,x:( (1-jax.nn.sigmoid(x@w[0]+h@u[0]))*jnp.tanh(x@w[1]+h@u[1])+jax.nn.sigmoid(x@w[0]+h@u[0])*h,None),h,x)[0],S((50,16,64),f32),S((16,128),f32),S((2,64,128),f32),S((2,128,128),f32))
lowered('decode_attn',lambda q,k,v: jnp.einsum('bhs,bshd->bhd',jax.nn.softmax(jnp.einsum('bhd,bshd->bhs',q,k)/8),v),S((4,8,64),f32),S((4,1024,8,64),f32),S((4,1024,8,64),f32))
lowered('bf16_mlp',lambda x,a,b: jax.nn.silu(x@a)@b,S((128,512),bf),S((512,1024),bf),S((1024,512),bf))
lowered('cumprod_rev',lambda x: jax.lax.cumprod(x,axis=1,reverse=True),S((512,1024),f32))
lowered('searchsorted',lambda a,v: jnp.searchsorted(a,v),S((10000,),f32),S((100000,),f32))
lowered('unique_counts',lambda x: jnp.bincount(x,length=1000),S((100000,),jnp.int32))
lowered('uint8_img',lambda x: (x.astype(f32)/255-.5)/.25,S((32,224,224,3),jnp.uint8))
lowered('argmax_mid',lambda x: jnp.argmax(x,axis=1),S((64,1000,64),f32))
lowered('std_all',lambda x: (x.std(),x.max(),x.min()),S((2000000,),f32))
lowered('complex_mul',lambda a,b: a*jnp.conj(b),S((500000,),jnp.complex64),S((500000,),jnp.complex64))
lowered('bits',lambda x: jax.lax.population_count(x^(x>>3))+jax.lax.clz(x),S((2000000,),jnp.uint32))
lowered('int_div',lambda a,b: a//b+a%b,S((1000000,),jnp.int32),S((1000000,),jnp.int32))
lowered('pow_sin',lambda x: jnp.sin(x)**2.5+jnp.log1p(jnp.abs(x))*jnp.exp(-x),S((1000000,),f32))
lowered('erf_gelu_bf16',lambda x: jax.nn.gelu(x,approximate=False),S((4096,1024),bf))
lowered('transpose_4d',lambda x: x.transpose(0,3,1,2),S((8,56,56,128),f32))
lowered('transpose_rev',lambda x: x.transpose(3,2,1,0),S((16,32,48,64),f32))
lowered('split_heads_bf16',lambda x: x.reshape(8,512,16,64).transpose(0,2,1,3),S((8,512,1024),bf))
