/** Every layer put back whole: a bar each, over the range of random directions as long; its numbers in a table. */

import type { LayerMove } from "../../api/analytics";
import { number, signed } from "../../widgets/numbers";
import { randomText } from "../test/testView";
import "../test/bar.css";

const WIDTH = 600;
const HEIGHT = 130;
const FOOT = 16;

export function LayerMoves({ layers }: { readonly layers: readonly LayerMove[] }) {
  const whole = layers.filter(({ what }) => what === "all + error");
  const features = new Map(layers.filter(({ what }) => what === "all features").map((each) => [each.layer, each.undone]));
  if (whole.length === 0) return null;
  return (
    <>
      <h3>Layers put back, whole</h3>
      <Bars whole={whole} />
      <p className="muted small">
        What of the gain goes when the residual stream behind a layer is set back to what it was, wherever a token of these completions is decided.
        Grey: random directions as long. Where nothing goes, what was learned comes later.
      </p>
      <details className="table-twin">
        <summary>Layers put back as a table</summary>
        <table aria-label="Layers put back">
          <thead>
            <tr>
              {["layer", "undone", "random", "corrected p", "all features at once"].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {whole.map(({ layer, undone, random, p_family: p }) => (
              <tr key={layer}>
                <th scope="row">{layer}</th>
                <td>{signed(undone, 2)}</td>
                <td>{randomText({ random }, 2)}</td>
                <td>{number(p)}</td>
                <td>{features.has(layer) ? signed(features.get(layer) ?? null, 2) : ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  );
}

function Bars({ whole }: { readonly whole: readonly LayerMove[] }) {
  const values = [0, ...whole.flatMap(({ undone, random }) => [undone, ...random])];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const each = WIDTH / whole.length;
  const y = (value: number) => 4 + ((HEIGHT - FOOT - 8) * (high - value)) / (high - low || 1);
  const box = (n: number, inset: number, ends: readonly number[]) => {
    const [top, bottom] = [y(Math.max(...ends)), y(Math.min(...ends))];
    return { x: n * each + inset * each, width: each * (1 - 2 * inset), y: top, height: Math.max(bottom - top, 0.5) };
  };
  const every = Math.max(1, Math.ceil(whole.length / 15));
  return (
    <svg className="layer-moves" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label="What of the gain goes with each layer; the numbers are in the table below">
      {whole.map(({ layer, undone, random, p_family: p }, n) => (
        <g key={layer}>
          {random.length > 0 && <rect className="layer-random" {...box(n, 0.06, random)} />}
          <rect className={undone < 0 ? "effect-down" : "effect-up"} {...box(n, 0.25, [0, undone])}>
            <title>{`layer ${layer}: ${signed(undone, 2)}, random ${randomText({ random }, 2)}, corrected p ${number(p)}`}</title>
          </rect>
          {n % every === 0 && (
            <text x={(n + 0.5) * each} y={HEIGHT - 3} textAnchor="middle">
              {layer}
            </text>
          )}
        </g>
      ))}
      <line className="effect-zero" x1={0} x2={WIDTH} y1={y(0)} y2={y(0)} />
    </svg>
  );
}
