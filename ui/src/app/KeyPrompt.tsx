/** Asks for the server's key. */

import { useState } from "react";
import { giveKey } from "../api/key";

export function KeyPrompt() {
  const [key, setKey] = useState("");
  return (
    <form
      className="key-prompt"
      onSubmit={(event) => {
        event.preventDefault();
        giveKey(key.trim());
        window.location.reload();
      }}
    >
      <p>This server has a key. It was printed, or set as SONDE_API_KEY, when the server was started.</p>
      <label>
        Key
        <input type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} />
      </label>
      <button type="submit" className="primary" disabled={key.trim() === ""}>
        Use it in this tab
      </button>
    </form>
  );
}
