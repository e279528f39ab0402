"""A symmetric sparse matrix of 3 x 3 blocks, in float64 on the host."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(eq=False)
class BlockMatrix:
    """Blocks sorted by row, one for each pair of particles that share an element.

    Attributes:
        rows: first block of each row that has some. of_row: those rows (r,).
        column: of each block (k,). blocks: (k, 3, 3).
        count: number of rows.
    """

    rows: np.ndarray
    of_row: np.ndarray
    column: np.ndarray
    blocks: np.ndarray
    count: int

    @staticmethod
    def of_elements(corners: np.ndarray, elements: np.ndarray, count: int) -> BlockMatrix:
        """The sum of element matrices (m, k, k, 3, 3) over corners (m, k) of `count` particles."""
        width = corners.shape[1]
        row = np.repeat(corners, width, axis=1).reshape(-1).astype(np.int64)
        column = np.tile(corners, (1, width)).reshape(-1).astype(np.int64)
        return BlockMatrix._summed(row * count + column, elements, count)

    @staticmethod
    def _summed(key: np.ndarray, blocks: np.ndarray, count: int) -> BlockMatrix:
        """Blocks of rows and columns key = row * count + column, summed where they meet."""
        order = np.argsort(key, kind="stable")
        unique, starts = np.unique(key[order], return_index=True)
        blocks = np.add.reduceat(blocks.reshape(-1, 9)[order], starts).reshape(-1, 3, 3)
        of_row, rows = np.unique(unique // count, return_index=True)
        return BlockMatrix(rows, of_row, unique % count, blocks, count)

    def __matmul__(self, u: np.ndarray) -> np.ndarray:
        """Product with displacements (n, 3), or with several at once (n, 3, k)."""
        several = u[..., None] if u.ndim == 2 else u
        parts = np.matmul(self.blocks, several[self.column])
        out = np.zeros_like(several)
        out[self.of_row] = np.add.reduceat(parts, self.rows)
        return out.reshape(u.shape)

    def plus(self, other: BlockMatrix, own: float, others: float) -> BlockMatrix:
        """The sum of both with weights."""
        if np.array_equal(self.column, other.column) and np.array_equal(self.rows, other.rows):
            return dataclasses.replace(self, blocks=own * self.blocks + others * other.blocks)
        keys = [part.row_of_blocks() * self.count + part.column for part in (self, other)]
        blocks = np.concatenate([own * self.blocks, others * other.blocks])
        return BlockMatrix._summed(np.concatenate(keys), blocks, self.count)

    def row_of_blocks(self) -> np.ndarray:
        """The row of each block (k,)."""
        return np.repeat(self.of_row, np.diff(np.append(self.rows, len(self.column))))

    def diagonal(self) -> np.ndarray:
        """The blocks on the diagonal (n, 3, 3)."""
        own = np.zeros((self.count, 3, 3))
        row = self.row_of_blocks()
        at = row == self.column
        own[row[at]] = self.blocks[at]
        return own

    def dense(self) -> np.ndarray:
        """The whole matrix (3 n, 3 n)."""
        full = np.zeros((self.count, 3, self.count, 3))
        row = self.row_of_blocks()
        full[row, :, self.column, :] = self.blocks
        return full.reshape(3 * self.count, 3 * self.count)
