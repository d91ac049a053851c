/** The only code that asks the server for something; streams are in `events.ts`. */

import createClient from "openapi-fetch";
import { ApiError, Disconnected, KeyWanted, messageOf, wasAborted } from "./errors";
import { authorization, keyRefused } from "./key";
import type { paths } from "./schema.generated";

type Answers = (request: Request) => Promise<Response>;

const server: Answers = (request) => fetch(request);
let answers = server;

/** Let something else than the server answer: the copy of a run, which has no server. */
export function answerFrom(other: Answers): void {
  answers = other;
}

export const api = createClient<paths>({ baseUrl: "", fetch: (request) => answers(request) });

api.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(authorization())) request.headers.set(name, value);
    return request;
  },
  onError({ error }) {
    return wasAborted(error) ? undefined : new Disconnected();
  },
});

interface Answer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** The body of an answer, or the error it is. */
export async function read<T>(asked: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await asked;
  if (response.status === 401) {
    keyRefused();
    throw new KeyWanted();
  }
  if (!response.ok || data === undefined) {
    throw new ApiError(response.status, messageOf(error, response.status));
  }
  return data;
}
