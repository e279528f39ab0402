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
        key = row * count + column
        order = np.argsort(key, kind="stable")
        unique, starts = np.unique(key[order], return_index=True)
        blocks = np.add.reduceat(elements.reshape(-1, 9)[order], starts).reshape(-1, 3, 3)
        of_row, rows = np.unique(unique // count, return_index=True)
        return BlockMatrix(rows, of_row, unique % count, blocks, count)

    def __matmul__(self, u: np.ndarray) -> np.ndarray:
        """Product with displacements (n, 3)."""
        parts = np.einsum("kij,kj->ki", self.blocks, u[self.column])
        out = np.zeros((self.count, 3))
        out[self.of_row] = np.add.reduceat(parts, self.rows)
        return out

    def diagonal(self) -> np.ndarray:
        """The blocks on the diagonal (n, 3, 3)."""
        own = np.zeros((self.count, 3, 3))
        row = np.repeat(self.of_row, np.diff(np.append(self.rows, len(self.column))))
        at = row == self.column
        own[row[at]] = self.blocks[at]
        return own

    def dense(self) -> np.ndarray:
        """The whole matrix (3 n, 3 n)."""
        full = np.zeros((self.count, 3, self.count, 3))
        row = np.repeat(self.of_row, np.diff(np.append(self.rows, len(self.column))))
        full[row, :, self.column, :] = self.blocks
        return full.reshape(3 * self.count, 3 * self.count)
