#!/bin/bash
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=8
# Mixtral 8x7B, arguments in strings that a command puts together.
TP=1
PP=4
EP=8
MODEL=8x7b
case $MODEL in
    8x22b)
        SIZES="--num-layers 56 --hidden-size 6144 --ffn-hidden-size 16384 --num-attention-heads 48"
        ;;
    8x7b | mixtral)
        SIZES="--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32"
        ;;
    *)
        echo "which?"
        ;;
esac
OPTIONS=" \
    $SIZES \
    --disable-bias-linear --seq-length 4096 --max-position-embeddings 32768 \
    --position-embedding-type rope --normalization RMSNorm --swiglu \
    --untie-embeddings-and-output-weights --group-query-attention --num-query-groups 8 \
    --attention-dropout 0.0 --hidden-dropout 0.0 --no-masked-softmax-fusion"
MOE=" --num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss \
    --moe-aux-loss-coeff 1e-2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall \
    --moe-permute-fusion --overlap-param-gather --overlap-grad-reduce"
CMD="python pretrain_gpt.py $OPTIONS $MOE \
    --tokenizer-type Llama2Tokenizer --tokenizer-model ${TOKENIZER_MODEL} \
    --micro-batch-size 1 --global-batch-size=256 --bf16 --no-position-embedding \
    --tensor-model-parallel-size=${TP} --pipeline-model-parallel-size=${PP} \
    --num-layers-per-virtual-pipeline-stage 8 \
    --expert-model-parallel-size ${EP} --use-distributed-optimizer --sequence-parallel"
srun -l --container-image=$IMAGE bash -c "${CMD}"
