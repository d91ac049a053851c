/** A list's chosen value as one of those it was filled with. */
export function chosen<T extends string>(offered: readonly [T, ...T[]], value: string): T {
  return offered.find((each) => each === value) ?? offered[0];
}
