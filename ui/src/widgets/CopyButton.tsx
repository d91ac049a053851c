/** Puts a text on the clipboard, and says that it did, or why it cannot. */

import { useState } from "react";
import { asError } from "../api/errors";
import { ErrorNote } from "./ErrorNote";
import { copyText } from "./leaving";

export interface CopyButtonProps {
  readonly text: string;
  /** What the button says. */
  readonly label: string;
  /** What is copied, as it is named afterwards: `Link`. */
  readonly what: string;
}

export function CopyButton({ text, label, what }: CopyButtonProps) {
  const [copied, setCopied] = useState<string | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  const copy = async () => {
    setFailure(null);
    try {
      await copyText(text);
      setCopied(text);
    } catch (error) {
      setFailure(asError(error));
    }
  };
  return (
    <>
      <button type="button" onClick={() => void copy()}>
        {label}
      </button>
      <span role="status" className="muted">
        {copied === text ? `${what} copied.` : ""}
      </span>
      {failure && <ErrorNote error={failure} />}
    </>
  );
}
