/** Whose weights: those that are loaded, or every checkpoint of a run, one after the other. */

import type { RunRow } from "../api/runs";
import { courseLacks } from "./courseDraft";
import type { Draft } from "./draft";

interface CourseFieldsProps {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
  /** Those that have checkpoints. */
  readonly runs: readonly RunRow[];
}

export function CourseFields({ draft, change, runs }: CourseFieldsProps) {
  const { course } = draft;
  const known = runs.some(({ run }) => run === course.run);
  if (runs.length === 0 && course.run === "") return null;
  return (
    <div className="short-fields">
      <label className="field">
        <span>Weights</span>
        <select value={course.run} onChange={({ target }) => change({ course: { ...course, run: target.value } })}>
          <option value="">of the loaded model</option>
          {runs.map(({ run, last_checkpoint: last }) => (
            <option key={run} value={run}>
              {run}, up to step {last}
            </option>
          ))}
          {course.run !== "" && !known && <option value={course.run}>{course.run}</option>}
        </select>
      </label>
      {course.run !== "" && (
        <label className="field">
          <span>
            Checkpoints <small>all, or 10, 20</small>
          </span>
          <input
            type="text"
            value={course.steps}
            aria-invalid={courseLacks(course) !== null}
            onChange={({ target }) => change({ course: { ...course, steps: target.value } })}
          />
        </label>
      )}
    </div>
  );
}
