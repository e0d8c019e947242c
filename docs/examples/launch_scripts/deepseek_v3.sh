#!/bin/bash
# DeepSeek-V3 on 32 nodes: latent attention, experts behind three dense layers, a layout, DeepEP, block scaling.
NODES=32
PP=${PP:-16}
ARGS=(
    --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --kv-channels 128
    --seq-length 4096 --max-position-embeddings 4096 --position-embedding-type rope --rope-type yarn
    --normalization RMSNorm --swiglu --disable-bias-linear --untie-embeddings-and-output-weights --qk-layernorm
    --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64
    --v-head-dim 128 --rotary-scaling-factor 40 --mscale 1.0
    --num-experts 256 --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 --moe-router-topk 8
    --moe-layer-freq '([0]*3+[1]*58)' --moe-router-num-groups 8 --moe-router-group-topk 4
    --moe-router-score-function sigmoid --moe-router-enable-expert-bias --moe-router-dtype fp32
    --moe-token-dispatcher-type flex --moe-enable-deepep --moe-grouped-gemm --moe-permute-fusion
    --mtp-num-layers 1 --mtp-loss-scaling-factor 0.1
    --tensor-model-parallel-size 1 --pipeline-model-parallel-size $PP --expert-model-parallel-size 8
    --expert-tensor-parallel-size 1
    --pipeline-model-parallel-layout 'Et*3|(tt|)*29m|L'
    --micro-batch-size 1 --global-batch-size 512
    --bf16 --fp8-format e4m3 --fp8-recipe blockwise
    --recompute-granularity selective --recompute-modules mla_up_proj moe_act layernorm
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
    --use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 --main-grads-dtype fp32
    --attention-dropout 0 --hidden-dropout 0 --cross-entropy-loss-fusion --cross-entropy-fusion-impl te
    --tokenizer-type HuggingFaceTokenizer --tokenizer-model deepseek-ai/DeepSeek-V3
    --no-create-attention-mask-in-dataloader --attention-backend auto
)
torchrun --nnodes=$NODES --nproc-per-node=8 \
    --rdzv-endpoint $MASTER_ADDR:29500 \
    ./pretrain_gpt.py "${ARGS[@]}"
