/** How strong a feature was at the tokens of a run that have it, and on how many that is. */

import type { FeatureInRun } from "../api/features";
import { count, grouped, number } from "../widgets/numbers";

const HEIGHT = 90;
/** Recorded are a token's strongest features only, so half of them already means nearly everywhere. */
const NEARLY_EVERYWHERE = 0.5;

export function Histogram({ found }: { readonly found: FeatureInRun }) {
  const { tokens, recorded, counts, edges, reason } = found;
  const most = Math.max(1, ...counts);
  const share = recorded === 0 ? 0 : tokens / recorded;
  if (tokens === 0) return <p className="muted">{reason}</p>;
  return (
    <>
      <p>
        Among the strongest of {grouped(tokens)} of {count(recorded, "recorded token")}: {number(100 * share)} %.
        {share > NEARLY_EVERYWHERE && (
          <span className="dense"> It fires nearly everywhere: that it is active says little.</span>
        )}
      </p>
      <h3>Histogram of its activations there</h3>
      <svg className="histogram" viewBox={`0 0 ${10 * counts.length} ${HEIGHT}`} role="img" aria-label={`Histogram of activations from 0 to ${number(edges.at(-1))}; the numbers are in the table below`}>
        {counts.map((each, bin) => (
          <rect key={bin} x={10 * bin + 1} width={8} y={HEIGHT - (HEIGHT * each) / most} height={(HEIGHT * each) / most}>
            <title>{`${number(edges[bin])} to ${number(edges[bin + 1])}: ${count(each, "token")}`}</title>
          </rect>
        ))}
      </svg>
      <p className="axis-ends muted small">
        <span>0</span>
        <span>activation {number(edges.at(-1))}</span>
      </p>
      <details className="table-twin">
        <summary>Histogram as a table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">from</th>
              <th scope="col">to</th>
              <th scope="col">tokens</th>
            </tr>
          </thead>
          <tbody>
            {counts.map((each, bin) => (
              <tr key={bin}>
                <td>{number(edges[bin])}</td>
                <td>{number(edges[bin + 1])}</td>
                <td>{grouped(each)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  );
}
