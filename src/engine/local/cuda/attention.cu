// Attention over cached pages for all rows of a ragged batch, in two launches a layer: `place` norms and rotates
// heads and stores keys and values, `attend` reads them back where they lie.
//
// Compiled when a model is loaded, with the shape of that model:
//   HEADS, KV_HEADS   query heads, key/value heads (HEADS is a multiple of KV_HEADS)
//   HEAD_DIM          even, at most 256
//   INTERLEAVED       1: elements 2i and 2i + 1 turn together; 0: i and i + HEAD_DIM / 2
//   NORMED            1: every query and key head is normed first
//
// A page holds 32 positions, one for each lane of a warp. Within a page and a head, keys lie position by position
// under each element, [HEAD_DIM][32], so that lanes which score one position each read side by side; values lie
// element by element under each position, [32][HEAD_DIM], so that lanes which sum one element each do.
//
// No header is needed, and none may be: the compiler that does this has none at hand. The same text also compiles
// as C++ around which blocks and warps are acted out (tests/engine/cuda/act.cpp).

#define PAGE 32
#define LANES 32
// warps that share the pages of one tile, and queries in a tile
#define WARPS 8
#define TILE 8

#define GROUP (HEADS / KV_HEADS)
#define HALF (HEAD_DIM / 2)
#define CHUNKS ((HEAD_DIM + LANES - 1) / LANES)
#define ALL_LANES 0xffffffffu
// less than any score; a number, so that differences of two are numbers
#define LEAST (-3.0e38f)

// Words of the tables that the host makes once a step (table.rs).
struct Row {
    unsigned position;
    unsigned slot;
};
struct Tile {
    unsigned row;      // first row of the sequence in this batch
    unsigned position; // of that row
    unsigned query;    // first query of the tile; query n is head n % GROUP of row n / GROUP
    unsigned queries;  // how many, 1 to TILE
    unsigned pages;    // where the sequence's pages begin in the list of pages
};

static __device__ float sum_of_lanes(float x) {
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        x += __shfl_xor_sync(ALL_LANES, x, apart);
    return x;
}

static __device__ float most_of_lanes(float x) {
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, apart));
    return x;
}

// One warp for each head of each row: grid (rows, HEADS + 2 * KV_HEADS).
extern "C" __global__ void __launch_bounds__(LANES)
place(const float *q, const float *k, const float *v, unsigned q_stride, unsigned k_stride, unsigned v_stride,
      const float *q_norm, const float *k_norm, float eps, const float *frequencies, const Row *rows,
      float *queries, float *keys, float *values) {
    const unsigned row = blockIdx.x, head = blockIdx.y, lane = threadIdx.x;
    const Row at = rows[row];
    const size_t page = at.slot / PAGE, offset = at.slot % PAGE;

    if (head >= HEADS + KV_HEADS) {
        const unsigned kv = head - HEADS - KV_HEADS;
        const float *from = v + (size_t)row * v_stride + kv * HEAD_DIM;
        float *to = values + ((page * KV_HEADS + kv) * PAGE + offset) * HEAD_DIM;
        for (unsigned d = lane; d < HEAD_DIM; d += LANES)
            to[d] = from[d];
        return;
    }

    const bool is_query = head < HEADS;
    const unsigned kv = head - HEADS;
    const float *from = is_query ? q + (size_t)row * q_stride + head * HEAD_DIM
                                 : k + (size_t)row * k_stride + kv * HEAD_DIM;
    float *to = is_query ? queries + ((size_t)row * HEADS + head) * HEAD_DIM
                         : keys + (page * KV_HEADS + kv) * HEAD_DIM * PAGE + offset;
    const size_t apart = is_query ? 1 : PAGE;

    float scale = 1.0f;
    const float *norm = is_query ? q_norm : k_norm;
    if (NORMED) {
        float squares = 0.0f;
        for (unsigned d = lane; d < HEAD_DIM; d += LANES)
            squares += from[d] * from[d];
        scale = 1.0f / sqrtf(sum_of_lanes(squares) / HEAD_DIM + eps);
    }
    for (unsigned pair = lane; pair < HALF; pair += LANES) {
        const unsigned one = INTERLEAVED ? 2 * pair : pair;
        const unsigned two = INTERLEAVED ? 2 * pair + 1 : pair + HALF;
        float a = from[one], b = from[two];
        if (NORMED) {
            a *= scale * norm[one];
            b *= scale * norm[two];
        }
        float sine, cosine;
        sincosf((float)at.position * frequencies[pair], &sine, &cosine);
        to[one * apart] = a * cosine - b * sine;
        to[two * apart] = a * sine + b * cosine;
    }
}

// One block for each tile and key/value head: grid (tiles, KV_HEADS). Every warp takes every WARPS-th page and
// keeps a softmax of its own as it goes; they are merged at the end, always in the same order, so that a row's
// numbers do not depend on which rows are computed beside it.
extern "C" __global__ void __launch_bounds__(WARPS *LANES)
attend(const float *queries, const float *keys, const float *values, const Tile *tiles, const unsigned *pages,
       float *out) {
    __shared__ float asked[HEAD_DIM][TILE];
    __shared__ float weights[WARPS][PAGE][TILE];
    __shared__ float highest[WARPS][TILE];
    __shared__ float total[WARPS][TILE];
    __shared__ float merged[TILE][HEAD_DIM];

    const Tile tile = tiles[blockIdx.x];
    const unsigned kv = blockIdx.y, thread = threadIdx.x, lane = thread % LANES, warp = thread / LANES;

    const float scale = 1.0f / sqrtf((float)HEAD_DIM);
    for (unsigned i = thread; i < TILE * HEAD_DIM; i += WARPS * LANES) {
        const unsigned t = i / HEAD_DIM, d = i % HEAD_DIM, n = tile.query + t;
        const size_t row = tile.row + n / GROUP, head = kv * GROUP + n % GROUP;
        asked[d][t] = t < tile.queries ? queries[(row * HEADS + head) * HEAD_DIM + d] * scale : 0.0f;
        merged[t][d] = 0.0f;
    }
    __syncthreads();

    float best[TILE], share[TILE], sums[TILE][CHUNKS];
    for (unsigned t = 0; t < TILE; t++) {
        best[t] = LEAST;
        share[t] = 0.0f;
        for (unsigned c = 0; c < CHUNKS; c++)
            sums[t][c] = 0.0f;
    }

    // positions that the last query of the tile sees
    const unsigned seen = tile.position + (tile.query + tile.queries - 1) / GROUP + 1;
    for (unsigned page = warp; page * PAGE < seen; page += WARPS) {
        const size_t block = (size_t)pages[tile.pages + page] * KV_HEADS + kv;
        const float *key = keys + block * HEAD_DIM * PAGE;
        float score[TILE];
        for (unsigned t = 0; t < TILE; t++)
            score[t] = 0.0f;
#pragma unroll 8
        for (unsigned d = 0; d < HEAD_DIM; d++) {
            const float x = key[d * PAGE + lane];
#pragma unroll
            for (unsigned t = 0; t < TILE; t++)
                score[t] += asked[d][t] * x;
        }
#pragma unroll
        for (unsigned t = 0; t < TILE; t++) {
            float weight = 0.0f;
            if (t < tile.queries) {
                // what lies beyond may be anything, even no number: it is not looked at
                const bool sees = page * PAGE + lane <= tile.position + (tile.query + t) / GROUP;
                const float now = fmaxf(best[t], most_of_lanes(sees ? score[t] : LEAST));
                const float kept = expf(best[t] - now);
                weight = sees ? expf(score[t] - now) : 0.0f;
                best[t] = now;
                share[t] = share[t] * kept + weight;
                for (unsigned c = 0; c < CHUNKS; c++)
                    sums[t][c] *= kept;
            }
            weights[warp][lane][t] = weight;
        }
        __syncwarp();
        const float *value = values + block * PAGE * HEAD_DIM;
        const unsigned held = seen - page * PAGE < PAGE ? seen - page * PAGE : PAGE;
        for (unsigned j = 0; j < held; j++) {
#pragma unroll
            for (unsigned c = 0; c < CHUNKS; c++) {
                const unsigned d = c * LANES + lane;
                const float x = d < HEAD_DIM ? value[j * HEAD_DIM + d] : 0.0f;
#pragma unroll
                for (unsigned t = 0; t < TILE; t++)
                    sums[t][c] += weights[warp][j][t] * x;
            }
        }
        __syncwarp();
    }

    for (unsigned t = 0; t < TILE; t++) {
        const float sum = sum_of_lanes(share[t]);
        if (lane == 0) {
            highest[warp][t] = best[t];
            total[warp][t] = sum;
        }
    }
    __syncthreads();
    float factor[TILE];
    for (unsigned t = 0; t < TILE; t++) {
        float most = LEAST, sum = 0.0f;
        for (unsigned w = 0; w < WARPS; w++)
            most = fmaxf(most, highest[w][t]);
        for (unsigned w = 0; w < WARPS; w++)
            sum += total[w][t] * expf(highest[w][t] - most);
        factor[t] = t < tile.queries ? expf(best[t] - most) / sum : 0.0f;
    }
    for (unsigned turn = 0; turn < WARPS; turn++) {
        if (turn == warp)
            for (unsigned t = 0; t < TILE; t++)
                for (unsigned c = 0; c < CHUNKS; c++) {
                    const unsigned d = c * LANES + lane;
                    if (d < HEAD_DIM)
                        merged[t][d] += sums[t][c] * factor[t];
                }
        __syncthreads();
    }
    for (unsigned i = thread; i < tile.queries * HEAD_DIM; i += WARPS * LANES) {
        const unsigned t = i / HEAD_DIM, d = i % HEAD_DIM, n = tile.query + t;
        const size_t row = tile.row + n / GROUP, head = kv * GROUP + n % GROUP;
        out[(row * HEADS + head) * HEAD_DIM + d] = merged[t][d];
    }
}
