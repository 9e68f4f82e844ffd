//! Matrix products of strided views: the one place where training leaves safe Rust.

use gemm::Parallelism;

/// A matrix within a slice: element `(r, c)` at `r * row_stride + c * column_stride`.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

/// A row-major matrix that is written to; rows lie `stride` apart.
#[derive(Debug)]
pub struct ViewMut<'a> {
    data: &'a mut [f32],
    rows: usize,
    columns: usize,
    stride: usize,
}

/// What happens to the numbers that the result is written over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Add {
    /// They are replaced.
    Replace,
    /// The product is added to them.
    Accumulate,
}

/// Elements from the first to the last of a matrix, strides included.
fn span(rows: usize, columns: usize, row_stride: usize, column_stride: usize) -> usize {
    if rows == 0 || columns == 0 {
        return 0;
    }
    let last = (rows - 1)
        .checked_mul(row_stride)
        .zip((columns - 1).checked_mul(column_stride))
        .and_then(|(r, c)| r.checked_add(c)?.checked_add(1));
    last.expect("a matrix in memory spans less than the address space")
}

impl<'a> View<'a> {
    /// Rows of `columns` numbers, one after the other.
    ///
    /// # Panics
    /// Where the slice is too short.
    #[must_use]
    pub fn new(data: &'a [f32], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    /// Rows of `columns` numbers that begin `stride` apart.
    ///
    /// # Panics
    /// Where the slice is too short.
    #[must_use]
    pub fn strided(data: &'a [f32], rows: usize, columns: usize, stride: usize) -> Self {
        assert!(
            span(rows, columns, stride, 1) <= data.len(),
            "matrix exceeds its slice"
        );
        Self {
            data,
            rows,
            columns,
            row_stride: stride,
            column_stride: 1,
        }
    }

    /// The same numbers with rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            data: self.data,
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }
}

impl<'a> ViewMut<'a> {
    /// Rows of `columns` numbers, one after the other.
    ///
    /// # Panics
    /// Where the slice is too short.
    #[must_use]
    pub fn new(data: &'a mut [f32], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    /// Rows of `columns` numbers that begin `stride` apart.
    ///
    /// # Panics
    /// Where the slice is too short or rows overlap.
    #[must_use]
    pub fn strided(data: &'a mut [f32], rows: usize, columns: usize, stride: usize) -> Self {
        assert!(columns <= stride || rows <= 1, "rows of a result overlap");
        assert!(
            span(rows, columns, stride, 1) <= data.len(),
            "matrix exceeds its slice"
        );
        Self {
            data,
            rows,
            columns,
            stride,
        }
    }
}

/// `out = factor * a b`, or added to `out`. Runs on the calling thread, in an order that depends on the shapes
/// alone.
///
/// # Panics
/// Where shapes do not fit.
#[allow(unsafe_code)]
pub fn matmul(out: ViewMut<'_>, add: Add, factor: f32, a: View<'_>, b: View<'_>) {
    assert_eq!(a.columns, b.rows, "inner dimensions differ");
    assert_eq!(
        (out.rows, out.columns),
        (a.rows, b.columns),
        "the product has another shape"
    );
    let signed = |stride: usize| isize::try_from(stride).expect("strides are within a slice");
    // SAFETY: every view was checked on construction to lie within its slice, the strides are those it was
    // checked with, a transposed view touches the same elements, and `out` is borrowed mutably, so that it
    // overlaps neither operand. The kernels are picked by what the processor supports.
    unsafe {
        gemm::gemm(
            out.rows,
            out.columns,
            a.columns,
            out.data.as_mut_ptr(),
            1,
            signed(out.stride),
            add == Add::Accumulate,
            a.data.as_ptr(),
            signed(a.column_stride),
            signed(a.row_stride),
            b.data.as_ptr(),
            signed(b.column_stride),
            signed(b.row_stride),
            1.0,
            factor,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_agree_with_the_sum_over_the_inner_dimension() {
        let number = |i: usize| ((i * 37) % 11) as f32 - 5.0;
        for (m, n, k) in [(1, 1, 1), (3, 5, 2), (17, 33, 9), (64, 70, 32), (2, 3, 0)] {
            let a: Vec<f32> = (0..k * m).map(number).collect();
            let b: Vec<f32> = (0..k * (n + 3)).map(number).collect();
            let before: Vec<f32> = (0..m * (n + 1)).map(number).collect();
            let mut out = before.clone();
            // a is stored transposed, rows of b and out have a gap after them
            matmul(
                ViewMut::strided(&mut out, m, n, n + 1),
                Add::Accumulate,
                0.5,
                View::new(&a, k, m).transposed(),
                View::strided(&b, k, n, n + 3),
            );
            for row in 0..m {
                for column in 0..=n {
                    let at = row * (n + 1) + column;
                    let sum: f32 = match column < n {
                        true => (0..k)
                            .map(|i| a[i * m + row] * b[i * (n + 3) + column])
                            .sum(),
                        false => 0.0,
                    };
                    assert!(
                        (out[at] - before[at] - 0.5 * sum).abs() < 1e-3,
                        "{m} {n} {k}"
                    );
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "exceeds")]
    fn a_view_past_the_end_of_its_slice_is_refused() {
        let _ = View::strided(&[0.0; 10], 3, 2, 5);
    }
}
