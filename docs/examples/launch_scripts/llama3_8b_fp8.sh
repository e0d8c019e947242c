#!/bin/bash
# Llama 3 8B in fp8 on one node: a choice of precision by a condition, arrays that are added to.
export CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-1}
CHECKPOINT_PATH=${1:-"checkpoints/llama3_8b"}
TOKENIZER_ARG=${2:-"MOCK"}  # a tokenizer's model, or MOCK
mkdir -p "$(dirname "$CHECKPOINT_PATH")"
TP_SIZE=${TP:-1}
DTYPE="fp8"
HIDDEN=4096

MODEL_ARGS=(
    --num-layers 32
    --hidden-size $HIDDEN
    --ffn-hidden-size $((HIDDEN * 7 / 2))
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 8
    --seq-length 8192
    --max-position-embeddings 8192
    --position-embedding-type rope
    --rotary-base 1000000
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --swiglu
    --attention-backend fused
    --untie-embeddings-and-output-weights
    --disable-bias-linear
)
DTYPE_ARGS=()
if [[ "$DTYPE" == "fp8" ]]; then
    DTYPE_ARGS+=(
        "--fp8-format hybrid"
        "--fp8-amax-history-len 1024"
        "--fp8-param-gather"
    )
fi
DATA_ARGS=()
if [[ "$TOKENIZER_ARG" == "MOCK" ]] || [[ -z "$TOKENIZER_ARG" ]]; then
    DATA_ARGS+=("--mock-data" "--tokenizer-type NullTokenizer" "--vocab-size 128255")
else
    DATA_ARGS+=("--tokenizer-type HuggingFaceTokenizer" "--tokenizer-model $TOKENIZER_ARG")
fi
if [ ! -f pretrain_gpt.py ]; then
    echo "no pretrain_gpt.py here"
    exit 1
fi
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \
    ${MODEL_ARGS[@]} ${DTYPE_ARGS[@]} ${DATA_ARGS[@]} \
    --bf16 --grad-reduce-in-bf16 \
    --micro-batch-size 1 --global-batch-size 128 --train-samples 1953125000 \
    --tensor-model-parallel-size $TP_SIZE --sequence-parallel \
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
    --cross-entropy-loss-fusion --manual-gc --save "$CHECKPOINT_PATH"
