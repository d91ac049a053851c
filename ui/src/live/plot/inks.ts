/** Colours of lines, from the page's own variables, so that both themes have theirs. */

export const SERIES_INKS = 6;

export interface PlotInks {
  readonly ink: string;
  readonly muted: string;
  readonly line: string;
  readonly surface: string;
  readonly accent: string;
  readonly caution: string;
  readonly series: readonly string[];
}

export function plotInks(element: Element): PlotInks {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    ink: of("--ink"),
    muted: of("--muted"),
    line: of("--line"),
    surface: of("--surface"),
    accent: of("--accent"),
    caution: of("--caution"),
    series: Array.from({ length: SERIES_INKS }, (_, index) => of(`--series-${index}`)),
  };
}

/** Lines differ in their dashes too, for those who cannot tell the colours. */
export const DASHES: readonly (readonly number[])[] = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [1, 2]];
