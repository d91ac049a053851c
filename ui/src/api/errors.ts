/** What can go wrong with a request, told apart by what a person can do about it. */

/** The server answered, and the answer is no. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The server has a key, and was not given it: the page asks for it at its top. */
export class KeyWanted extends ApiError {
  constructor() {
    super(401, "This server shows nothing without its key. Give it above.");
  }
}

/** There was no answer. */
export class Disconnected extends Error {
  constructor() {
    super("The server does not answer. It is asked again every few seconds.");
  }
}

/** The sentence in an error body: Sonde's plain one, OpenAI's, or the framework's. */
export function messageOf(body: unknown, status: number): string {
  const error = field(body, "error");
  const message = typeof error === "string" ? error : (field(error, "message") ?? field(body, "detail"));
  if (typeof message !== "string" || message === "") return `The server answered ${status}.`;
  return message.replace(ROUTES, "");
}

/** Where a program would look: the page shows the same in its own lists. */
const ROUTES = /; GET \/\S+ (lists (them|those there are|the routes)|follows it)\.?$/;

/** Whether a promise was given up on purpose. */
export function wasAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
