/** Where the cursor goes when a key is pressed. Rows count from the top of the picture. */

export interface Place {
  readonly row: number;
  readonly column: number;
}

const PAGE = 5;

export function moved(key: string, at: Place, rows: number, columns: number): Place | null {
  const to = (row: number, column: number): Place => ({
    row: Math.min(Math.max(row, 0), rows - 1),
    column: Math.min(Math.max(column, 0), columns - 1),
  });
  switch (key) {
    case "ArrowLeft":
      return to(at.row, at.column - 1);
    case "ArrowRight":
      return to(at.row, at.column + 1);
    case "ArrowUp":
      return to(at.row - 1, at.column);
    case "ArrowDown":
      return to(at.row + 1, at.column);
    case "PageUp":
      return to(at.row - PAGE, at.column);
    case "PageDown":
      return to(at.row + PAGE, at.column);
    case "Home":
      return to(at.row, 0);
    case "End":
      return to(at.row, columns - 1);
    default:
      return null;
  }
}

export function samePlace(one: Place | null, other: Place | null): boolean {
  return one?.row === other?.row && one?.column === other?.column;
}
