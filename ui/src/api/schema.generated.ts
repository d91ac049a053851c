// Written by `make ui-types` from openapi.json: do not edit.

export interface paths {
    "/api/p5/analytics/changed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Changed
         * @description What the policy does that it did not, where `sonde runs changed` has compared it.
         */
        get: operations["run_changed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/analytics/features": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Features
         * @description Features of a layer over time: those named, or the highest ranked of the stretch.
         */
        get: operations["feature_tile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/analytics/generation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Generation
         * @description One generation, token by token with its features.
         */
        get: operations["one_generation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/analytics/generations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Generations
         * @description Generations, newest first.
         */
        get: operations["list_generations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/analytics/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Health
         * @description How well dictionaries fit over time, what recording costs, and warnings.
         */
        get: operations["health_curves"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/analytics/layers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Layers
         * @description Layers over time.
         */
        get: operations["layer_tile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/analytics/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Overview
         * @description A run in a few numbers, and what is missing.
         */
        get: operations["run_overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/analytics/rewards": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Rewards
         * @description The reward curve.
         */
        get: operations["reward_curves"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/analytics/scatter": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Scatter
         * @description Reconstruction loss against reward, a point a generation, with correlations.
         */
        get: operations["loss_and_reward"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/analytics/telemetry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Telemetry
         * @description KL, policy loss, entropy, gradient norm, lengths, truncation and speed.
         */
        get: operations["telemetry_curves"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/analytics/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tokens
         * @description Recorded tokens of a step with their features, of any run.
         */
        get: operations["token_stretch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/analytics/vocabulary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Vocabulary
         * @description Features that passed generations keep using, and whether failed ones lack them.
         */
        get: operations["vocabulary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/feature": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Feature In Run
         * @description Where a feature was among the strongest, over all of a run.
         */
        get: operations["feature_in_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Health
         * @description Lag, listeners, bad lines and rates.
         */
        get: operations["stream_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/moment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Moment
         * @description A recorded token as a test: the checkpoint nearest to what said it, and the sweep.
         */
        get: operations["moment_to_test"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/notes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Notes
         * @description What was noted of features of a run.
         */
        get: operations["list_notes"];
        /**
         * Keep
         * @description Keep a note of a feature with its run; an empty one takes the old one away.
         */
        put: operations["keep_note"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/page": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Page
         * @description A run as one HTML file that opens without a server.
         */
        get: operations["run_page"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Checkpoints
         * @description The checkpoints of a run, in numeric order, with how many records each has.
         */
        get: operations["list_checkpoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/sae/records": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Records
         * @description Records there are now, one JSON object a line.
         *
         *     A page reads history here, then follows with `from=` the `X-Next-Id` of this answer.
         */
        get: operations["read_records"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/p5/sae/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream
         * @description Records as server-sent events, one a line as it was written, then follow.
         */
        get: operations["stream_records"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Runs
         * @description The runs there are, the one written to last first.
         */
        get: operations["list_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/saes/{layer}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Describe Features
         * @description Where some features of a layer are active, and which tokens they promote.
         */
        get: operations["describe_features"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/detokenize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Detokenize
         * @description Text of token ids; special tokens have none.
         */
        post: operations["detokenize"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Health
         * @description The process is alive. Never waits for the model.
         */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics
         * @description Counters and gauges in Prometheus' text format.
         */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ready
         * @description Whether work that is sent now will be done: 503 when the model is lost or it stops.
         *
         *     A model that is busy, however long, is ready: what is sent waits for its turn, or is told by
         *     429 that too much waits already. `/v1/capabilities` says how much that is.
         */
        get: operations["ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokenize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tokenize
         * @description Token ids of a text, or of a conversation as the chat template writes it.
         */
        post: operations["tokenize"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/attention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Attention
         * @description What heads attend to in a prompt: patterns, or with `scores` three numbers a head.
         */
        post: operations["attention"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/capabilities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Capabilities
         * @description The model, its hooks, the limits, what can be chosen, and how busy the server is.
         *
         *     One that is named is loaded for that, if it was not.
         */
        get: operations["capabilities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Chat
         * @description Answer a conversation, as the model's chat template writes it.
         *
         *     One JSON body, or with `stream` chunks as they come. It stops when the client leaves.
         */
        post: operations["create_chat_completion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Complete
         * @description Continue one prompt or several, with patches at prompt and generated positions.
         *
         *     One JSON body, or with `stream` chunks as they come. It stops when the client leaves.
         */
        post: operations["create_completion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/history/{sweep_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Forget
         * @description Delete a sweep that has ended from the history, with all it found. It does not come back.
         *
         *     The answer is what it was. One that is computed has to be cancelled first.
         */
        delete: operations["forget_sweep"];
        options?: never;
        head?: never;
        /**
         * Remark
         * @description Give a sweep a name, a note, a star; what is left out stays as it is.
         *
         *     One with a star is not forgotten when the history is full.
         */
        patch: operations["remark_sweep"];
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Listing
         * @description The models that are loaded, the default first, and the names of those that can be.
         */
        get: operations["list_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{model_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One
         * @description One of them, by its name; names of models may hold slashes.
         */
        get: operations["get_model"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patch_source": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Listing
         * @description The stored runs of the loaded models, of each the next to be evicted first.
         */
        get: operations["list_source_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patch_source/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One
         * @description What one run holds, how large and how old it is, and how long it is leased.
         */
        get: operations["get_source_run"];
        put?: never;
        post?: never;
        /**
         * Drop
         * @description Forget a run, leased or not. A sweep that still needs it ends with an error.
         */
        delete: operations["drop_source_run"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patch_sweep": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * History
         * @description Sweeps of the past and under way, newest first.
         *
         *     With `starred` those that have a star; with `search` those that have all of these words, in
         *     any order and case, in their name, note, id or request.
         */
        get: operations["sweep_history"];
        put?: never;
        /**
         * Patch Sweep
         * @description Patch every site of a grid and grade each.
         *
         *     One JSON body, or with `stream` events as they come. With the header `Prefer: respond-async`
         *     the answer is the sweep's entry, at once; its events are then at `events`. Otherwise the
         *     sweep stops when the client leaves.
         */
        post: operations["patch_sweep"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patch_sweep/estimate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Estimate Sweep
         * @description What a sweep would cost: cells, bytes, seconds. Captures nothing.
         */
        post: operations["estimate_sweep"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patch_sweep/{sweep_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One
         * @description One sweep with its provenance, and what it found when it has finished.
         */
        get: operations["get_sweep"];
        put?: never;
        post?: never;
        /**
         * Cancel
         * @description Stop a sweep, between two layers if need be. It stays in the history.
         */
        delete: operations["cancel_sweep"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patch_sweep/{sweep_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events
         * @description A sweep's events, numbered, from the first or from the one after `Last-Event-ID`.
         */
        get: operations["sweep_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/patch_sweep/{sweep_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export
         * @description A finished sweep as a file.
         */
        get: operations["export_sweep"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/steering/modules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Listing
         * @description What has a name: where it can be written, its scale and its size.
         */
        get: operations["list_modules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/steering/modules/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Listing
         * @description What has a name: where it can be written, its scale and its size.
         */
        get: operations["list_vectors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/steering/modules/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register
         * @description Give vectors of a model a name. They are kept in memory until the model goes.
         */
        post: operations["register_vectors"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/steering/modules/unregister": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unregister
         * @description Forget a name. Work that has begun with its vectors ends with them.
         */
        post: operations["unregister_vectors"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sweeps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * History
         * @description Sweeps of the past and under way, newest first.
         *
         *     With `starred` those that have a star; with `search` those that have all of these words, in
         *     any order and case, in their name, note, id or request.
         */
        get: operations["table_history"];
        put?: never;
        /**
         * Run Sweep
         * @description Run every row of a table of writes: over sites, or over the features of a dictionary.
         *
         *     With `reward` completions of a run are sampled instead, and graded.
         *
         *     Answered as `/v1/patch_sweep` is: one JSON body, events with `stream`, or with the header
         *     `Prefer: respond-async` the sweep's entry, at once.
         */
        post: operations["run_sweep"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sweeps/estimate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Estimate Table
         * @description What a sweep would cost. For features the prompt is run once: it says which there are.
         */
        post: operations["estimate_table"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sweeps/{sweep_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One
         * @description One sweep with its provenance, and what it found when it has finished.
         */
        get: operations["get_table"];
        put?: never;
        post?: never;
        /**
         * Cancel
         * @description Stop a sweep of either kind, between two layers if need be. It stays in the history.
         */
        delete: operations["cancel_table"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sweeps/{sweep_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events
         * @description A sweep's events, numbered, from the first or from the one after `Last-Event-ID`.
         */
        get: operations["table_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sweeps/{sweep_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export
         * @description A finished sweep as a file.
         */
        get: operations["export_table"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tasks
         * @description The tasks that come with Sonde.
         */
        get: operations["tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Task Pairs
         * @description So many pairs of a task, for `pairs` in a sweep.
         */
        get: operations["task_pairs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AlarmSpan
         * @description A warning of the trainer, from when to when.
         */
        AlarmSpan: {
            /** Alarm */
            alarm: string;
            /** First Step */
            first_step: number;
            /** Last Step */
            last_step: number;
            /** Standing */
            standing: boolean;
        };
        /**
         * Alignment
         * @description How positions of the corrupt prompt were matched with positions of the clean one.
         */
        Alignment: {
            /** N Clean */
            n_clean: number;
            /** N Corrupt */
            n_corrupt: number;
            /**
             * Paired
             * @default []
             */
            paired?: [
                number,
                number[]
            ][];
            /**
             * Pairing
             * @default strict
             * @enum {string}
             */
            pairing?: "strict" | "first" | "last" | "proportional" | "mean";
            /** Prefix Len */
            prefix_len: number;
            /** Suffix Len */
            suffix_len: number;
            /** Unaligned Positions */
            unaligned_positions: number[];
        };
        /**
         * Answer
         * @description What the model says.
         */
        Answer: {
            /** Content */
            content: string;
            /** Refusal */
            refusal?: null;
            /**
             * Role
             * @default assistant
             * @constant
             */
            role?: "assistant";
        };
        /**
         * AtK
         * @description What is known of the k strongest cells.
         */
        AtK: {
            /** K */
            k: number;
            /** Missed At Most */
            missed_at_most: number | null;
            /** Precision */
            precision: number;
            /** Stronger In Sample */
            stronger_in_sample: number;
            /** Threshold */
            threshold: number;
        };
        /**
         * AttentionRequest
         * @description Run one prompt, and tell what its heads attend to.
         */
        AttentionRequest: {
            /** Heads */
            heads?: number[] | null;
            /** Layers */
            layers?: number[] | components["schemas"]["LayerRange"] | null;
            /** Model */
            model?: string | null;
            /** Prompt */
            prompt?: string | number[] | null;
            /** Repeated */
            repeated?: number | null;
            /**
             * Scores
             * @default false
             */
            scores?: boolean;
            /**
             * Seed
             * @default 0
             */
            seed?: number;
        };
        /**
         * AttentionTable
         * @description Patterns or scores of some heads, layer by layer, head by head.
         */
        AttentionTable: {
            /** Heads */
            heads: number[];
            /** Layers */
            layers: number[];
            /** Patterns */
            patterns?: number[] | null;
            /** Scores */
            scores?: {
                [key: string]: (number | null)[];
            } | null;
            /** Token Ids */
            token_ids: number[];
            /** Tokens */
            tokens: string[];
        };
        /**
         * Axis
         * @description What varies along one side of a table.
         */
        Axis: {
            /** Labels */
            labels: string[];
            /**
             * Name
             * @enum {string}
             */
            name: "checkpoint" | "prompt" | "pair" | "direction" | "hook" | "layer" | "head" | "position" | "role" | "feature" | "draw" | "sender" | "receiver";
            /** Values */
            values: (number | string)[];
        };
        /**
         * BadLineReport
         * @description A line that was withheld.
         */
        BadLineReport: {
            /** Fault */
            fault: string;
            /** File */
            file: string;
            /** Offset */
            offset: number;
        };
        /**
         * Capabilities
         * @description What can be asked of this server, and how busy it is.
         */
        Capabilities: {
            /** Dictionary Layers */
            dictionary_layers?: number[];
            /** Export Formats */
            export_formats: ("json" | "csv" | "parquet" | "png" | "svg" | "html")[];
            limits: components["schemas"]["ServerLimits"];
            /** Metrics */
            metrics: ("logprob" | "logit_diff" | "recovered")[];
            model: components["schemas"]["ModelDescription"];
            /** Pairings */
            pairings: ("strict" | "first" | "last" | "proportional" | "mean")[];
            queues: components["schemas"]["Queues"];
            source_runs: components["schemas"]["SourceRunUse"];
            /** Versions */
            versions: {
                [key: string]: string;
            };
        };
        /**
         * Capture
         * @description What to keep of this completion, by consumer. There is one consumer.
         */
        Capture: {
            patch_source: components["schemas"]["CaptureSource"];
        };
        /**
         * CaptureResult
         * @description How a capture went.
         */
        CaptureResult: {
            /** Error */
            error?: string | null;
            /**
             * Payload
             * @default {}
             */
            payload?: {
                [key: string]: string | number;
            };
            /**
             * Status
             * @enum {string}
             */
            status: "ok" | "not_requested";
        };
        /**
         * CaptureSource
         * @description Keep activations of this prompt as a source run.
         *
         *     Hooks that ask for different layers are all kept at every layer that one of them asks for.
         */
        CaptureSource: {
            /** Hooks */
            hooks: {
                [key: string]: "all" | number[];
            };
            /**
             * Positions
             * @default all_prompt
             */
            positions?: string | number[];
            /** Run */
            run?: string | null;
        };
        /**
         * Cell
         * @description One finished cell, in completion order.
         */
        Cell: {
            /**
             * Error
             * @default null
             */
            error?: string | null;
            /**
             * Hook
             * @enum {string}
             */
            hook: "pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern";
            /** Layer */
            layer: number;
            /** Position */
            position: number;
            /**
             * Type
             * @default cell
             * @constant
             */
            type?: "cell";
            /** Value */
            value: number | null;
            /**
             * Values
             * @default null
             */
            values?: {
                [key: string]: number | null;
            } | null;
        };
        /**
         * Changed
         * @description What became of a policy between two checkpoints. Step 0 is the model it began as.
         */
        Changed: {
            /** By Place */
            by_place: number[];
            /** Features */
            features: components["schemas"]["FeatureMove"][];
            /** First */
            first: number;
            /**
             * Format
             * @default sonde.changed.1
             * @constant
             */
            format?: "sonde.changed.1";
            /** Gain */
            gain: number;
            /** Gained */
            gained: components["schemas"]["TokenGain"][];
            /** Last */
            last: number;
            /**
             * Layers
             * @default []
             */
            layers?: components["schemas"]["LayerMove"][];
            /** Left Out */
            left_out: number;
            /** Lost */
            lost: components["schemas"]["TokenGain"][];
            /** Made */
            made: number;
            /** Places */
            places: components["schemas"]["PlaceGain"][];
            /** Probes */
            probes: number;
            /** Reasons */
            reasons: string[];
            /** Tokens */
            tokens: number;
            /** Weights */
            weights: string[];
        };
        /**
         * ChangedAnswer
         * @description What is known of a run's changes: the pairs of steps, and one of them.
         */
        ChangedAnswer: {
            changed: components["schemas"]["Changed"] | null;
            /** Known */
            known: number[][];
            /** Reason */
            reason: string | null;
        };
        /**
         * ChatChoice
         * @description One answer.
         */
        ChatChoice: {
            /**
             * Finish Reason
             * @enum {string}
             */
            finish_reason: "stop" | "length";
            /** Index */
            index: number;
            logprobs: components["schemas"]["ChatLogprobs"] | null;
            message: components["schemas"]["Answer"];
            /** Stop Reason */
            stop_reason?: string | number | null;
        };
        /**
         * ChatCompletion
         * @description The whole answer.
         */
        ChatCompletion: {
            /** Capture Results */
            capture_results?: {
                [key: string]: components["schemas"]["CaptureResult"];
            } | null;
            /** Choices */
            choices: components["schemas"]["ChatChoice"][];
            /** Created */
            created: number;
            /** Id */
            id: string;
            /** Model */
            model: string;
            /**
             * Object
             * @default chat.completion
             * @constant
             */
            object?: "chat.completion";
            /** Prompt Logprobs */
            prompt_logprobs?: ({
                [key: string]: components["schemas"]["PromptLogprob"];
            } | null)[] | null;
            /** System Fingerprint */
            system_fingerprint: string;
            usage: components["schemas"]["Usage"];
        };
        /**
         * ChatLogprobs
         * @description One entry for each generated token.
         */
        ChatLogprobs: {
            /** Content */
            content: components["schemas"]["ChatToken"][];
            /** Refusal */
            refusal?: null;
        };
        /**
         * ChatRequest
         * @description Answer a conversation.
         */
        ChatRequest: {
            /** Add Generation Prompt */
            add_generation_prompt?: boolean | null;
            /** Audio */
            audio?: {
                [key: string]: unknown;
            } | null;
            capture?: components["schemas"]["Capture"] | null;
            /** Capture Wait */
            capture_wait?: boolean | null;
            /** Continue Final Message */
            continue_final_message?: boolean | null;
            /** Frequency Penalty */
            frequency_penalty?: number | null;
            /** Function Call */
            function_call?: string | {
                [key: string]: unknown;
            } | null;
            /** Functions */
            functions?: {
                [key: string]: unknown;
            }[] | null;
            /** Ignore Eos */
            ignore_eos?: boolean | null;
            /** Include Stop Str In Output */
            include_stop_str_in_output?: boolean | null;
            /** Logit Bias */
            logit_bias?: {
                [key: string]: number;
            } | null;
            /** Logprob Token Ids */
            logprob_token_ids?: number[] | null;
            /** Logprobs */
            logprobs?: boolean | null;
            /** Max Completion Tokens */
            max_completion_tokens?: number | null;
            /** Max Tokens */
            max_tokens?: number | null;
            /** Messages */
            messages: components["schemas"]["Message"][];
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Min P */
            min_p?: number | null;
            /** Min Tokens */
            min_tokens?: number | null;
            /** Modalities */
            modalities?: string[] | null;
            /** Model */
            model?: string | null;
            /** Moderation */
            moderation?: {
                [key: string]: unknown;
            } | null;
            /** N */
            n?: number | null;
            /** Parallel Tool Calls */
            parallel_tool_calls?: boolean | null;
            /** Patch */
            patch?: components["schemas"]["CompletionPatch"][] | null;
            patch_vectors?: components["schemas"]["PatchVectors"] | null;
            /** Prediction */
            prediction?: {
                [key: string]: unknown;
            } | null;
            /** Presence Penalty */
            presence_penalty?: number | null;
            /** Prompt Cache Key */
            prompt_cache_key?: string | null;
            /** Prompt Cache Options */
            prompt_cache_options?: {
                [key: string]: unknown;
            } | null;
            /** Prompt Cache Retention */
            prompt_cache_retention?: string | null;
            /** Prompt Logprobs */
            prompt_logprobs?: number | null;
            /** Reasoning Effort */
            reasoning_effort?: string | null;
            /** Repetition Penalty */
            repetition_penalty?: number | null;
            /** Response Format */
            response_format?: {
                [key: string]: unknown;
            } | null;
            /** Safety Identifier */
            safety_identifier?: string | null;
            /** Seed */
            seed?: number | null;
            /** Service Tier */
            service_tier?: string | null;
            /** Stop */
            stop?: string | string[] | null;
            /** Stop Token Ids */
            stop_token_ids?: number[] | null;
            /** Store */
            store?: boolean | null;
            /** Stream */
            stream?: boolean | null;
            stream_options?: components["schemas"]["StreamOptions"] | null;
            /** Temperature */
            temperature?: number | null;
            /** Tool Choice */
            tool_choice?: string | {
                [key: string]: unknown;
            } | null;
            /** Tools */
            tools?: {
                [key: string]: unknown;
            }[] | null;
            /** Top K */
            top_k?: number | null;
            /** Top Logprobs */
            top_logprobs?: number | null;
            /** Top P */
            top_p?: number | null;
            /** User */
            user?: string | null;
            /** Verbosity */
            verbosity?: string | null;
            /** Web Search Options */
            web_search_options?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * ChatToken
         * @description A generated token beside the likeliest ones, or the ones asked for.
         */
        ChatToken: {
            /** Bytes */
            bytes: number[] | null;
            /** Logprob */
            logprob: number;
            /** Token */
            token: string;
            /** Top Logprobs */
            top_logprobs: components["schemas"]["TokenLogprob"][];
        };
        /**
         * CheckpointAxis
         * @description Checkpoints of one run: the same sweep on the weights of each.
         */
        CheckpointAxis: {
            /** Run */
            run: string;
            /** Sources From */
            sources_from?: number | null;
            /**
             * Steps
             * @default all
             */
            steps?: "all" | number[];
        };
        /**
         * CheckpointList
         * @description The checkpoints of a run, in numeric order.
         */
        CheckpointList: {
            /** Count */
            count: number;
            /** P5 Dir */
            p5_dir: string;
            /** P5 Dir Exists */
            p5_dir_exists: boolean;
            /** Rows */
            rows: components["schemas"]["CheckpointRow"][];
        };
        /**
         * CheckpointRecord
         * @description One checkpoint of a table of many: what its cells are read against.
         */
        CheckpointRecord: {
            /** Clean */
            clean: {
                [key: string]: number | null;
            } | null;
            /** Controls */
            controls: components["schemas"]["Control"][];
            /** Corrupt */
            corrupt: {
                [key: string]: number | null;
            };
            /** Model */
            model: string;
            /** Noise Floor */
            noise_floor: {
                [key: string]: number | null;
            };
            /** Skipped */
            skipped: components["schemas"]["Skipped"][];
            /** Step */
            step: number;
            timing: components["schemas"]["Timing"];
            /** Weights */
            weights: string;
        };
        /**
         * CheckpointRow
         * @description One checkpoint.
         */
        CheckpointRow: {
            /** Checkpoint */
            checkpoint: string;
            /** Checkpoint Dir */
            checkpoint_dir: string;
            /** Metadata */
            metadata: {
                [key: string]: unknown;
            } | null;
            /** N Sae Records */
            n_sae_records: number;
            /** Step */
            step: number;
        };
        /**
         * CircuitCurve
         * @description Circuits of several sizes, by one rule.
         */
        CircuitCurve: {
            /** Cmd */
            cmd: number | null;
            /** Cpr */
            cpr: number | null;
            /** Points */
            points: components["schemas"]["CurvePoint"][];
            /** Rule */
            rule: ("absolute" | "signed") | "random";
        };
        /**
         * Coefficient
         * @description A correlation and its 95 % interval.
         */
        Coefficient: {
            /** High */
            high: number | null;
            /** Low */
            low: number | null;
            /** R */
            r: number;
        };
        /**
         * Completion
         * @description The answer; in a stream, a part of it.
         */
        Completion: {
            /** Capture Results */
            capture_results?: {
                [key: string]: components["schemas"]["CaptureResult"];
            } | null;
            /** Choices */
            choices: components["schemas"]["CompletionChoice"][];
            /** Created */
            created: number;
            /** Id */
            id: string;
            /** Model */
            model: string;
            /**
             * Object
             * @default text_completion
             * @constant
             */
            object?: "text_completion";
            /** System Fingerprint */
            system_fingerprint: string;
            usage?: components["schemas"]["Usage"] | null;
        };
        /**
         * CompletionChoice
         * @description One continuation of one prompt.
         */
        CompletionChoice: {
            /** Finish Reason */
            finish_reason: ("stop" | "length") | null;
            /** Index */
            index: number;
            logprobs: components["schemas"]["Logprobs"] | null;
            /** Prompt Logprobs */
            prompt_logprobs?: ({
                [key: string]: components["schemas"]["PromptLogprob"];
            } | null)[] | null;
            /** Stop Reason */
            stop_reason?: string | number | null;
            /** Text */
            text: string;
        };
        /**
         * CompletionPatch
         * @description One write: `out = (1 - alpha*mask) * h + alpha*mask * source`, at one site.
         *
         *     It has exactly one source: `source_run` with `source_position`, `source_module`, or
         *     `source_inline`.
         */
        CompletionPatch: {
            /**
             * Alpha
             * @default 1
             */
            alpha?: number;
            /** Dest Position */
            dest_position: number;
            /** Hook */
            hook: string;
            /** Layer */
            layer: number;
            mask?: components["schemas"]["Mask"] | null;
            /** Source Inline */
            source_inline?: number | null;
            /** Source Module */
            source_module?: string | null;
            /** Source Position */
            source_position?: number | null;
            /** Source Run */
            source_run?: string | null;
        };
        /**
         * CompletionRequest
         * @description Continue one prompt, or several.
         */
        CompletionRequest: {
            /** Best Of */
            best_of?: number | null;
            capture?: components["schemas"]["Capture"] | null;
            /** Capture Wait */
            capture_wait?: boolean | null;
            /** Echo */
            echo?: boolean | null;
            /** Frequency Penalty */
            frequency_penalty?: number | null;
            /** Ignore Eos */
            ignore_eos?: boolean | null;
            /** Include Stop Str In Output */
            include_stop_str_in_output?: boolean | null;
            /** Logit Bias */
            logit_bias?: {
                [key: string]: number;
            } | null;
            /** Logprob Token Ids */
            logprob_token_ids?: number[] | null;
            /** Logprobs */
            logprobs?: number | null;
            /** Max Tokens */
            max_tokens?: number | null;
            /** Min P */
            min_p?: number | null;
            /** Min Tokens */
            min_tokens?: number | null;
            /** Model */
            model?: string | null;
            /** N */
            n?: number | null;
            /** Patch */
            patch?: components["schemas"]["CompletionPatch"][] | null;
            patch_vectors?: components["schemas"]["PatchVectors"] | null;
            /** Presence Penalty */
            presence_penalty?: number | null;
            /** Prompt */
            prompt: string | string[] | number[] | number[][];
            /** Prompt Logprobs */
            prompt_logprobs?: number | null;
            /** Repetition Penalty */
            repetition_penalty?: number | null;
            /** Seed */
            seed?: number | null;
            /** Stop */
            stop?: string | string[] | null;
            /** Stop Token Ids */
            stop_token_ids?: number[] | null;
            /** Stream */
            stream?: boolean | null;
            stream_options?: components["schemas"]["StreamOptions"] | null;
            /** Suffix */
            suffix?: string | null;
            /** Temperature */
            temperature?: number | null;
            /** Top K */
            top_k?: number | null;
            /** Top P */
            top_p?: number | null;
            /** User */
            user?: string | null;
        };
        /**
         * Control
         * @description A cell that changes nothing by construction, computed like any other, and what came out.
         */
        Control: {
            /** Difference */
            difference: number;
            /** Head */
            head?: number | null;
            /**
             * Hook
             * @enum {string}
             */
            hook: "pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern";
            /**
             * Kind
             * @enum {string}
             */
            kind: "alpha_zero" | "self_patch";
            /** Layer */
            layer: number;
            /** Passed */
            passed: boolean;
            /** Position */
            position: number;
            /** Tolerance */
            tolerance: number;
        };
        /**
         * Correlation
         * @description How reconstruction loss goes with the reward among some generations.
         *
         *     Intervals are by Fisher's z; for Spearman's r with the variance of Bonett and Wright. They take
         *     generations to be independent.
         */
        Correlation: {
            /**
             * Among
             * @enum {string}
             */
            among: "all" | "passed" | "failed" | "within groups";
            /** Groups */
            groups: number | null;
            /** N */
            n: number;
            pearson: components["schemas"]["Coefficient"] | null;
            /** Reason */
            reason: string | null;
            spearman: components["schemas"]["Coefficient"] | null;
        };
        /**
         * Coverage
         * @description How much of a run an answer is about.
         */
        Coverage: {
            /** Bytes Read */
            bytes_read: number;
            /** Bytes Total */
            bytes_total: number;
            /** Complete */
            complete: boolean;
            /** Records */
            records: number;
            /** Withheld */
            withheld: number;
        };
        /**
         * CurvePoint
         * @description A circuit of one size.
         */
        CurvePoint: {
            completeness: components["schemas"]["Share"];
            /** Edges */
            edges: number;
            faithfulness: components["schemas"]["Share"];
            /** Share */
            share: number;
            /** Size */
            size: number;
        };
        /**
         * Curves
         * @description Numbers over steps: of rewards, or of the recording's health.
         */
        Curves: {
            /** Alarms */
            alarms: components["schemas"]["AlarmSpan"][];
            /** Columns */
            columns: number;
            coverage: components["schemas"]["Coverage"];
            /** First Step */
            first_step: number | null;
            /** Last Step */
            last_step: number | null;
            /** Reason */
            reason: string | null;
            /** Series */
            series: components["schemas"]["Series"][];
            /** Start */
            start: number;
            /** Width */
            width: number;
        };
        /**
         * DetokenizeRequest
         * @description Token ids whose text is wanted.
         */
        DetokenizeRequest: {
            /** Model */
            model?: string | null;
            /** Tokens */
            tokens: number[];
        };
        /**
         * DroppedPair
         * @description A pair that is in no table, and why.
         */
        DroppedPair: {
            /** Pair */
            pair: number;
            /** Reason */
            reason: string;
        };
        /**
         * Estimate
         * @description What a sweep will cost, before it starts.
         */
        Estimate: {
            /** Cells */
            cells: number;
            /** Chunks */
            chunks: number;
            /** Computed Cells */
            computed_cells: number;
            /** Seconds */
            seconds: number;
            /** Source Bytes */
            source_bytes: number;
            /** Token Layers */
            token_layers: number;
            /** Working Bytes */
            working_bytes: number;
        };
        /**
         * Extreme
         * @description The cell with the largest, or the smallest, value of a grid.
         */
        Extreme: {
            /** Layer */
            layer: number;
            /** Position */
            position: number;
            /** Value */
            value: number;
        };
        /**
         * Failed
         * @description The sweep ended without a summary.
         */
        Failed: {
            /** Error */
            error: string;
            /**
             * State
             * @default failed
             * @enum {string}
             */
            state?: "failed" | "cancelled" | "interrupted";
            /**
             * Type
             * @default error
             * @constant
             */
            type?: "error";
        };
        /**
         * Feature
         * @description One feature: where it is active, and what it says to the output.
         */
        Feature: {
            /**
             * After
             * @default []
             */
            after?: components["schemas"]["TokenShare"][];
            /**
             * Before
             * @default []
             */
            before?: components["schemas"]["TokenShare"][];
            /** Feature */
            feature: number;
            /**
             * Kinds
             * @default {}
             */
            kinds?: {
                [key: string]: number;
            };
            label?: components["schemas"]["Label"] | null;
            /**
             * Neighbours
             * @default []
             */
            neighbours?: components["schemas"]["Neighbour"][];
            /**
             * On
             * @default []
             */
            on?: components["schemas"]["TokenShare"][];
            /** Promoted */
            promoted: string[];
            /**
             * Promoted By
             * @default []
             */
            promoted_by?: number[];
            /** Rate */
            rate: number;
            /** Snippets */
            snippets: components["schemas"]["Snippet"][];
            /** Suppressed */
            suppressed: string[];
            /**
             * Suppressed By
             * @default []
             */
            suppressed_by?: number[];
        };
        /**
         * FeatureAxis
         * @description Features of one dictionary, each of them changed in the corrupt prompt's activations.
         *
         *     What a feature adds there is its activation times its decoder row. `patch` makes that what it
         *     adds in the clean prompt, `remove` nothing, and `clamp` what an activation of `value` adds.
         *     `alpha` times the difference is written, and nothing else is touched: what the dictionary does
         *     not explain stays, and no feature is computed anew.
         */
        FeatureAxis: {
            /**
             * Alike
             * @default 0
             */
            alike?: number;
            /** Also */
            also?: number[] | null;
            /**
             * Bright
             * @default 0
             */
            bright?: number;
            /** By */
            by?: ("attribution" | "activation") | null;
            /** Dictionary */
            dictionary?: string | null;
            /** Draws */
            draws?: number | null;
            /** Error */
            error?: boolean | null;
            /** How */
            how?: ("patch" | "remove" | "clamp") | null;
            /** Layer */
            layer: number;
            /** Numbers */
            numbers?: number[] | null;
            /**
             * Seed
             * @default 0
             */
            seed?: number;
            /** Top */
            top?: number | null;
            /** Value */
            value?: number | null;
        };
        /**
         * FeatureCards
         * @description Descriptions of some features of one layer's dictionary.
         */
        FeatureCards: {
            /** Dictionary */
            dictionary: string;
            /** Features */
            features: components["schemas"]["Feature"][];
            /** Layer */
            layer: number;
            /** Reason */
            reason: string | null;
        };
        /**
         * FeatureInRun
         * @description Where a feature was among the strongest of a token, over all of a run.
         */
        FeatureInRun: {
            /** Counts */
            counts: number[];
            coverage: components["schemas"]["Coverage"];
            /** Edges */
            edges: number[];
            /** Feature */
            feature: number;
            /** Layer */
            layer: number;
            /** Reason */
            reason: string | null;
            /** Recorded */
            recorded: number;
            /** Snippets */
            snippets: components["schemas"]["RunSnippet"][];
            /** Tokens */
            tokens: number;
        };
        /**
         * FeatureMove
         * @description A feature whose activation changed where completions are decided.
         */
        FeatureMove: {
            /** Feature */
            feature: number;
            /** Layer */
            layer: number;
            /** Moved */
            moved: number;
            /** P */
            p: number | null;
            /** P Family */
            p_family: number | null;
            /** Places */
            places: number;
            /** Random */
            random: number[];
            /** Reward */
            reward: number | null;
            /** Undone */
            undone: number | null;
            /** With Gain */
            with_gain: number | null;
            with_reward: components["schemas"]["Coefficient"] | null;
        };
        /**
         * FeatureName
         * @description A feature by its layer and number.
         */
        FeatureName: {
            /** Feature */
            feature: number;
            /** Layer */
            layer: number;
        };
        /**
         * GRPOMetrics
         * @description One optimizer step in nine numbers.
         */
        GRPOMetrics: {
            /** Advantage Mean */
            advantage_mean: number | null;
            /** Advantage Std */
            advantage_std: number | null;
            /** Iteration */
            iteration: number;
            /** N Invalid Compositions */
            n_invalid_compositions: number;
            /** R A Pass Rate */
            r_a_pass_rate: number | null;
            /** Rewards Max */
            rewards_max: number | null;
            /** Rewards Mean */
            rewards_mean: number | null;
            /** Rewards Min */
            rewards_min: number | null;
            /** Rewards Std */
            rewards_std: number | null;
        };
        /**
         * GatewayHealth
         * @description The gateway's part in delivering records.
         */
        GatewayHealth: {
            /** Cache Bytes */
            cache_bytes: number;
            /** Cache Limit Bytes */
            cache_limit_bytes: number;
            /** Listeners */
            listeners: number;
            /** P5 Dir */
            p5_dir: string;
            /** P5 Dir Exists */
            p5_dir_exists: boolean;
            /** Runs */
            runs: components["schemas"]["StreamHealth"][];
            /**
             * Status
             * @default ok
             * @enum {string}
             */
            status?: "ok" | "stopping";
            /** Uptime Seconds */
            uptime_seconds: number;
        };
        /**
         * Generation
         * @description One completion and its reward, as one step learns from it. It joins records to rewards.
         *
         *     A record belongs to the generation with the same `step` whose `[token_start, token_end)` holds
         *     its `token_index`. Where steps learn from one completion several times, it has a line for each,
         *     under one `generation_id`; to count completions, take those with `pass` 1.
         */
        Generation: {
            /** R */
            R: number | null;
            /** R A */
            R_A: number | null;
            /** R B */
            R_B: number | null;
            /** R C */
            R_C: number | null;
            /** R D */
            R_D: number | null;
            /** Advantage */
            advantage: number | null;
            /** Completion */
            completion: string;
            /** Completion Tokens */
            completion_tokens: number;
            /** Gate */
            gate: boolean | null;
            /** Generation Id */
            generation_id: string;
            /** Group Id */
            group_id: string;
            /**
             * Pass
             * @description Which time a step learns from it: 2 and more where a trainer uses completions again. Such a line has the id, the reward and the text of the first one, and a step and tokens of its own.
             * @default 1
             */
            pass?: number;
            /** Prompt */
            prompt: string;
            /**
             * Prompt Token
             * @default null
             */
            prompt_token?: number | null;
            /** Prompt Tokens */
            prompt_tokens: number;
            /** Run Id */
            run_id: string;
            /**
             * Schema
             * @default 1
             * @constant
             */
            schema?: 1;
            /** Step */
            step: number;
            /** Token End */
            token_end: number;
            /** Token Start */
            token_start: number;
            /** Truncated */
            truncated: boolean;
        };
        /**
         * GenerationPage
         * @description Generations, newest first.
         */
        GenerationPage: {
            coverage: components["schemas"]["Coverage"];
            /** Generations */
            generations: components["schemas"]["GenerationRow"][];
            /** Next */
            next: number | null;
            /** Reason */
            reason: string | null;
            /** Total */
            total: number;
        };
        /**
         * GenerationRow
         * @description One generation in a list.
         */
        GenerationRow: {
            /** R */
            R: number | null;
            /** R A */
            R_A: number | null;
            /** R B */
            R_B: number | null;
            /** R C */
            R_C: number | null;
            /** R D */
            R_D: number | null;
            /** Advantage */
            advantage: number | null;
            /** Completion */
            completion: string | null;
            /** Completion Tokens */
            completion_tokens: number;
            /** Gate */
            gate: boolean | null;
            /** Generation Id */
            generation_id: string;
            /** Group Id */
            group_id: string;
            /** Prompt */
            prompt: string | null;
            /** Prompt Tokens */
            prompt_tokens: number;
            /** Step */
            step: number;
            /** Token End */
            token_end: number;
            /** Token Start */
            token_start: number;
            /** Truncated */
            truncated: boolean;
        };
        /**
         * GenerationView
         * @description One generation, token by token.
         */
        GenerationView: {
            coverage: components["schemas"]["Coverage"];
            generation: components["schemas"]["GenerationRow"];
            /** More */
            more: boolean;
            /** Reason */
            reason: string | null;
            /** Siblings */
            siblings: components["schemas"]["Sibling"][];
            /** Tokens */
            tokens: components["schemas"]["TokenFeatures"][];
        };
        /**
         * GroupDifference
         * @description Mean loss of passed minus failed generations of the same group, averaged over groups.
         */
        GroupDifference: {
            /** Groups */
            groups: number;
            /** High */
            high: number | null;
            /** Low */
            low: number | null;
            /** Mean */
            mean: number | null;
            /** Reason */
            reason: string | null;
        };
        /**
         * HeadShape
         * @description How many heads a model's attention has, and how wide they are.
         */
        HeadShape: {
            /** Heads */
            heads: number;
            /** Key Width */
            key_width: number;
            /** Kv Heads */
            kv_heads: number;
            /** Value Width */
            value_width: number;
        };
        /**
         * Health
         * @description The process is alive. It says nothing about the model.
         */
        Health: {
            /**
             * Status
             * @default ok
             * @constant
             */
            status?: "ok";
        };
        /**
         * HookGrid
         * @description One hook's grid: rows are layers, columns are positions.
         */
        HookGrid: {
            argmax: components["schemas"]["Extreme"] | null;
            argmin: components["schemas"]["Extreme"] | null;
            /** Grid */
            grid: (number | null)[][];
            /**
             * Hook
             * @enum {string}
             */
            hook: "pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern";
        };
        JsonValue: unknown;
        /**
         * Label
         * @description What somebody said a feature means, who said it, and how far that was found to be so.
         */
        Label: {
            /** Examples */
            examples?: number | null;
            /** Measure */
            measure?: string | null;
            /** Reason */
            reason?: string | null;
            /** Score */
            score: number | null;
            /** Scorer */
            scorer?: string | null;
            /** Source */
            source: string;
            /** Text */
            text: string;
        };
        /**
         * LayerCount
         * @description What was recorded of one layer.
         */
        LayerCount: {
            /** Features */
            features: number;
            /** Layer */
            layer: number;
            /** Records */
            records: number;
        };
        /**
         * LayerFeatures
         * @description What one layer's dictionary saw in a token.
         */
        LayerFeatures: {
            /** Activations */
            activations: (number | null)[];
            /** Features */
            features: number[];
            /** Layer */
            layer: number;
            /** Loss */
            loss: number | null;
        };
        /**
         * LayerHealth
         * @description How well one layer's dictionary fits what it was shown since the last line.
         */
        LayerHealth: {
            /** Cosine */
            cosine: number | null;
            /** Dead Share */
            dead_share: number | null;
            /** Fvu */
            fvu: number | null;
            /** Input Norm */
            input_norm: number | null;
            /** L0 */
            l0: number | null;
            /** Layer Index */
            layer_index: number;
            /**
             * Non Finite
             * @default {}
             */
            non_finite?: {
                [key: string]: number;
            };
            /** Records Dropped */
            records_dropped: number;
            /** Records Written */
            records_written: number;
            /** Tokens */
            tokens: number;
        };
        /**
         * LayerMove
         * @description A whole layer put back to what it was where completions are decided.
         */
        LayerMove: {
            /** Layer */
            layer: number;
            /** P */
            p: number | null;
            /** P Family */
            p_family: number | null;
            /** Random */
            random: number[];
            /** Undone */
            undone: number;
            /**
             * What
             * @enum {string}
             */
            what: "all features" | "all + error";
        };
        /**
         * LayerRange
         * @description Layers `start`, `start + step`, … below `stop`, as in Python.
         */
        LayerRange: {
            /** Start */
            start: number;
            /**
             * Step
             * @default 1
             */
            step?: number;
            /** Stop */
            stop: number;
        };
        /**
         * Loading
         * @description The model that was asked for is being loaded: in the stream of a server, before `start`.
         */
        Loading: {
            /** Message */
            message: string;
            /** Model */
            model: string;
            /**
             * Type
             * @default loading
             * @constant
             */
            type?: "loading";
        };
        /**
         * Logprobs
         * @description Log-probabilities of the generated tokens, with `echo` after the prompt's; one entry a token.
         *
         *     A token is written as its text, leading space included. One that has no text of its own (an end
         *     token, a part of a character), or the same text as a likelier one, is `token_id:<id>`.
         */
        Logprobs: {
            /** Text Offset */
            text_offset: number[];
            /** Token Logprobs */
            token_logprobs: (number | null)[];
            /** Tokens */
            tokens: string[];
            /** Top Logprobs */
            top_logprobs: ({
                [key: string]: number;
            } | null)[];
        };
        /**
         * Mask
         * @description Which dimensions a patch touches: a list of them, or a row of weights in `patch_vectors`.
         */
        Mask: {
            /** Indices */
            indices?: number[] | null;
            /** Inline */
            inline?: number | null;
        };
        /**
         * Message
         * @description One turn of a conversation.
         *
         *     The other fields of OpenAI's messages are accepted as long as they say nothing: an answer can be
         *     sent back as it came.
         */
        Message: {
            /** Annotations */
            annotations?: unknown[] | null;
            /** Audio */
            audio?: {
                [key: string]: unknown;
            } | null;
            /** Content */
            content: string | components["schemas"]["TextPart"][];
            /** Function Call */
            function_call?: {
                [key: string]: unknown;
            } | null;
            /** Name */
            name?: string | null;
            /** Refusal */
            refusal?: string | null;
            /**
             * Role
             * @enum {string}
             */
            role: "system" | "developer" | "user" | "assistant";
            /** Tool Calls */
            tool_calls?: unknown[] | null;
        };
        /**
         * MetricGrid
         * @description One further metric's grid at one hook.
         */
        MetricGrid: {
            argmax: components["schemas"]["Extreme"] | null;
            argmin: components["schemas"]["Extreme"] | null;
            /** Grid */
            grid: (number | null)[][];
            /**
             * Hook
             * @enum {string}
             */
            hook: "pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern";
            /**
             * Metric
             * @enum {string}
             */
            metric: "logprob" | "logit_diff" | "recovered";
        };
        /**
         * MissingFile
         * @description A file that a run does not have, and what cannot be shown for lack of it.
         */
        MissingFile: {
            /** File */
            file: string;
            /** Prevents */
            prevents: string;
        };
        /**
         * ModelDescription
         * @description What a backend has loaded and what can be done with it.
         */
        ModelDescription: {
            /** Architecture */
            architecture: string;
            /**
             * Backend
             * @enum {string}
             */
            backend: "torch" | "vllm";
            /** Device */
            device: string;
            /** Dtype */
            dtype: string;
            /** End Ids */
            end_ids: number[];
            /** Exact */
            exact: boolean;
            /** Exact Reason */
            exact_reason?: string | null;
            heads?: components["schemas"]["HeadShape"] | null;
            /** Hooks */
            hooks: ("pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern")[];
            /** Max Tokens */
            max_tokens: number;
            /** N Layers */
            n_layers: number;
            /** Name */
            name: string;
            /**
             * Path
             * @enum {string}
             */
            path: "packed" | "whole_sequence";
            /** Path Reason */
            path_reason: string | null;
            special_tokens: components["schemas"]["SpecialTokens"];
            /** Vocabulary */
            vocabulary: number;
            /** Weights */
            weights: string;
            /** Width */
            width: number;
        };
        /**
         * ModelEntry
         * @description A model as OpenAI's API lists it.
         */
        ModelEntry: {
            /** Created */
            created: number;
            /** Id */
            id: string;
            /**
             * Loaded
             * @default true
             */
            loaded?: boolean;
            /** Max Model Len */
            max_model_len?: number | null;
            /**
             * Object
             * @default model
             * @constant
             */
            object?: "model";
            /**
             * Owned By
             * @default sonde
             * @constant
             */
            owned_by?: "sonde";
        };
        /**
         * ModelList
         * @description The models a server offers.
         */
        ModelList: {
            /** Data */
            data: components["schemas"]["ModelEntry"][];
            /**
             * Object
             * @default list
             * @constant
             */
            object?: "list";
        };
        /**
         * MomentToTest
         * @description One moment: the token of a completion, what was said next, and the test of the features.
         */
        MomentToTest: {
            /** After */
            after: string;
            /** Asked */
            asked: number | null;
            /** Checkpoint */
            checkpoint: number;
            /** Generation Id */
            generation_id: string;
            /** Layer */
            layer: number;
            request: components["schemas"]["SweepRequest"];
            /** Run */
            run: string;
            /** Said */
            said: string;
            /** Step */
            step: number;
            /** Token */
            token: number;
            /** Why */
            why: string;
        };
        /**
         * NamedVector
         * @description The vector of one hook and layer: written out, or a row of `patch_vectors`.
         */
        NamedVector: {
            /** Hook */
            hook: string;
            /** Inline */
            inline?: number | null;
            /** Layer */
            layer: number;
            /** Values */
            values?: number[] | null;
        };
        /**
         * Neighbour
         * @description A feature whose direction is near.
         */
        Neighbour: {
            /** Cosine */
            cosine: number;
            /** Feature */
            feature: number;
        };
        /**
         * Note
         * @description What somebody wrote about a feature of a run.
         */
        Note: {
            /** Text */
            text: string;
            /** Written */
            written: number;
        };
        /**
         * NoteList
         * @description `notes.json` of a run: notes by `layer.feature`.
         */
        NoteList: {
            /**
             * Notes
             * @default {}
             */
            notes?: {
                [key: string]: components["schemas"]["Note"];
            };
        };
        /**
         * NoteToKeep
         * @description A note as it is sent; an empty one takes the old one away.
         */
        NoteToKeep: {
            /** Text */
            text: string;
        };
        /** OpenAIError */
        OpenAIError: {
            error: {
                code: number;
                message: string;
                param: string | null;
                type: string;
            };
        };
        /**
         * Overview
         * @description A run in a few numbers.
         */
        Overview: {
            /** Cache */
            cache: string | null;
            coverage: components["schemas"]["Coverage"];
            /** Failed */
            failed: number;
            /** First Step */
            first_step: number | null;
            /** Generations */
            generations: number;
            /** Last Step */
            last_step: number | null;
            /** Layers */
            layers: components["schemas"]["LayerCount"][];
            /** Missing */
            missing: components["schemas"]["MissingFile"][];
            /** Passed */
            passed: number;
            /** Run */
            run: string;
            /** Steps */
            steps: number;
            /**
             * Unit
             * @enum {string}
             */
            unit: "step" | "token";
            /** Unjoined */
            unjoined: number;
        };
        /**
         * PackedLayers
         * @description The vectors of one hook, packed: row `i` belongs to layer `layer_indices[i]`.
         */
        PackedLayers: {
            /** Data */
            data: string;
            /**
             * Dtype
             * @enum {string}
             */
            dtype: "float32" | "float16" | "bfloat16";
            /** Layer Indices */
            layer_indices: number[];
            /** Scales */
            scales?: number[] | null;
            /** Shape */
            shape: number[];
        };
        /**
         * PairRecord
         * @description One pair of a table of many: what its cells are read against.
         */
        PairRecord: {
            /** Clean */
            clean: {
                [key: string]: number | null;
            };
            /** Controls */
            controls: components["schemas"]["Control"][];
            /** Corrupt */
            corrupt: {
                [key: string]: number | null;
            };
            /** Noise Floor */
            noise_floor: {
                [key: string]: number | null;
            };
            /** Pair */
            pair: number;
            prompts: components["schemas"]["PromptPair"];
            /** Roles */
            roles: {
                [key: string]: number[];
            };
            /** Skipped */
            skipped: components["schemas"]["Skipped"][];
            tokens: components["schemas"]["PromptTokens"];
        };
        /**
         * PatchSweepRequest
         * @description Patch every (hook, layer, position) of a grid, one at a time, and grade each.
         */
        PatchSweepRequest: {
            /**
             * Alpha
             * @default 1
             */
            alpha?: number;
            /** Answer Token */
            answer_token?: string | null;
            /** Answer Token Id */
            answer_token_id?: number | null;
            /** Clean Baseline */
            clean_baseline?: number | null;
            /** Clean Prompt */
            clean_prompt?: string | null;
            /** Foil Token */
            foil_token?: string | null;
            /** Foil Token Id */
            foil_token_id?: number | null;
            /**
             * Hook
             * @default post_block
             */
            hook?: string;
            /** Hooks */
            hooks?: string[] | null;
            /**
             * Keep Source
             * @default false
             */
            keep_source?: boolean;
            /** Layers */
            layers: number[] | components["schemas"]["LayerRange"];
            /**
             * Logprobs
             * @default 20
             */
            logprobs?: number;
            mask?: components["schemas"]["Mask"] | null;
            /**
             * Metric
             * @default logprob
             * @enum {string}
             */
            metric?: "logprob" | "logit_diff" | "recovered";
            /** Metrics */
            metrics?: ("logprob" | "logit_diff" | "recovered")[] | null;
            /** Model */
            model?: string | null;
            /**
             * Pairing
             * @default strict
             * @enum {string}
             */
            pairing?: "strict" | "first" | "last" | "proportional" | "mean";
            patch_vectors?: components["schemas"]["PatchVectors"] | null;
            /**
             * Positions
             * @default all_prompt
             */
            positions?: (number | components["schemas"]["SpanPosition"])[] | "all_prompt";
            /** Prompt */
            prompt: string;
            /** Source Inline */
            source_inline?: number | null;
            /** Source Module */
            source_module?: string | null;
            /** Source Positions */
            source_positions?: (number | components["schemas"]["SpanPosition"])[] | null;
            /** Source Run */
            source_run?: string | null;
            /**
             * Stream
             * @default false
             */
            stream?: boolean;
        };
        /**
         * PatchVectors
         * @description A packed table of vectors: row-major, little-endian, base64.
         */
        PatchVectors: {
            /** Data */
            data: string;
            /**
             * Dtype
             * @enum {string}
             */
            dtype: "float32" | "float16" | "bfloat16";
            /** Shape */
            shape: number[];
        };
        /**
         * PlaceGain
         * @description One token of one completion.
         */
        PlaceGain: {
            /** After */
            after: number;
            /** Before */
            before: number;
            /** Context */
            context: string;
            /** Generation Id */
            generation_id: string;
            /** Index */
            index: number;
            /** Token */
            token: string;
        };
        /** PlainError */
        PlainError: {
            error: string;
        };
        /**
         * PromptLogprob
         * @description A token at a position of the prompt.
         */
        PromptLogprob: {
            /** Decoded Token */
            decoded_token: string | null;
            /** Logprob */
            logprob: number;
            /** Rank */
            rank: number;
        };
        /**
         * PromptPair
         * @description A clean prompt, a corrupt one, and the answers that tell them apart.
         */
        PromptPair: {
            /** Answer */
            answer: string | number | (string | number)[];
            /** Clean */
            clean: string | number[];
            /** Cluster */
            cluster?: string | null;
            /** Corrupt */
            corrupt: string | number[];
            /** Foil */
            foil?: string | number | (string | number)[] | null;
            /**
             * Roles
             * @default {}
             */
            roles?: {
                [key: string]: string | components["schemas"]["RoleSpans"];
            };
        };
        /**
         * PromptTokens
         * @description The tokens of a prompt as text, so that a reader sees words under the columns.
         */
        PromptTokens: {
            /** Clean */
            clean?: string[] | null;
            /** Prompt */
            prompt: string[];
        };
        /**
         * Provenance
         * @description The model, the software and the request behind one result.
         */
        Provenance: {
            /** Architecture */
            architecture: string;
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /** Device */
            device: string;
            /** Dtype */
            dtype: string;
            /** Exact */
            exact?: boolean | null;
            /** Model */
            model: string;
            /** N Layers */
            n_layers: number;
            /** Request */
            request: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            special_tokens?: components["schemas"]["SpecialTokens"] | null;
            /** Versions */
            versions: {
                [key: string]: string;
            };
            /** Weights */
            weights: string;
        };
        /**
         * Queue
         * @description Jobs of one kind.
         */
        Queue: {
            /** Active */
            active: number;
            /** Waiting */
            waiting: number;
        };
        /**
         * Queues
         * @description Sweeps, and everything else that needs the model.
         */
        Queues: {
            call: components["schemas"]["Queue"];
            sweep: components["schemas"]["Queue"];
        };
        /**
         * Readiness
         * @description Whether work that is sent now will be done.
         */
        Readiness: {
            /** Ready */
            ready: boolean;
            /** Reason */
            reason: string | null;
        };
        /**
         * RegisterVectors
         * @description Give vectors a name. All of them are taken, or none.
         */
        RegisterVectors: {
            /** Clamps */
            clamps?: {
                [key: string]: unknown;
            } | null;
            /** Decode Clamps */
            decode_clamps?: {
                [key: string]: unknown;
            } | null;
            /** Decode Vectors */
            decode_vectors?: {
                [key: string]: unknown;
            } | null;
            /** Model */
            model?: string | null;
            /** Name */
            name: string;
            patch_vectors?: components["schemas"]["PatchVectors"] | null;
            /** Prefill Clamps */
            prefill_clamps?: {
                [key: string]: unknown;
            } | null;
            /** Prefill Vectors */
            prefill_vectors?: {
                [key: string]: unknown;
            } | null;
            /**
             * Replace
             * @default false
             */
            replace?: boolean;
            /**
             * Scale
             * @default 1
             */
            scale?: number;
            /** Vectors */
            vectors: components["schemas"]["NamedVector"][] | {
                [key: string]: components["schemas"]["PackedLayers"] | {
                    [key: string]: number[] | components["schemas"]["ScaledVector"];
                };
            };
        };
        /**
         * RegisteredVectors
         * @description What is known under a name.
         */
        RegisteredVectors: {
            /** Bytes */
            bytes: number;
            /** Name */
            name: string;
            /** Scale */
            scale: number;
            /** Sites */
            sites: components["schemas"]["VectorSite"][];
        };
        /**
         * Remarks
         * @description What somebody says of a sweep. What is left out stays; an empty text takes the old away.
         */
        Remarks: {
            /** Name */
            name?: string | null;
            /** Note */
            note?: string | null;
            /** Starred */
            starred?: boolean | null;
        };
        /**
         * RewardEffect
         * @description What the reward owes to one feature.
         */
        RewardEffect: {
            /** Beyond */
            beyond: number | null;
            /** Beyond High */
            beyond_high: number | null;
            /** Beyond Low */
            beyond_low: number | null;
            /** Changed */
            changed: number;
            /** Effect */
            effect: number;
            /** Feature */
            feature: number;
            /** High */
            high: number | null;
            /** Label */
            label: string;
            /** Low */
            low: number | null;
            /** P */
            p: number | null;
            /** P Alone */
            p_alone: number | null;
            /** P Random */
            p_random: number | null;
            /** Random */
            random: number[];
        };
        /**
         * RewardFound
         * @description What has come of a test so far, and in the end.
         */
        RewardFound: {
            /** Effects */
            effects: components["schemas"]["RewardEffect"][];
            /** Gate */
            gate: number | null;
            /** Prompts */
            prompts: number;
            /** Reward */
            reward: number;
            /** Verdict */
            verdict: string;
        };
        /**
         * RewardTest
         * @description Which run, and how much is sampled.
         */
        RewardTest: {
            /** Max Tokens */
            max_tokens?: number | null;
            /**
             * Prompts
             * @default 64
             */
            prompts?: number;
            /** Run */
            run: string;
            /** Step */
            step?: number | null;
            /**
             * Temperature
             * @default 1
             */
            temperature?: number;
        };
        /**
         * RoleSpans
         * @description A role whose words differ between the prompts.
         */
        RoleSpans: {
            /** Clean */
            clean: string;
            /** Corrupt */
            corrupt: string;
        };
        /**
         * RunList
         * @description The runs under the directory, the one written to last first.
         */
        RunList: {
            /** Count */
            count: number;
            /** Directory */
            directory: string;
            /** Directory Exists */
            directory_exists: boolean;
            /** Runs */
            runs: components["schemas"]["RunRow"][];
        };
        /**
         * RunRow
         * @description One run directory.
         */
        RunRow: {
            /** Directory */
            directory: string;
            /** Last Checkpoint */
            last_checkpoint: number | null;
            /** Last Step */
            last_step?: number | null;
            /** Layers */
            layers: number[] | null;
            /** Live */
            live: boolean;
            /** Max Steps */
            max_steps?: number | null;
            /** Missing */
            missing: string[];
            /** Model */
            model: string | null;
            /** Preset */
            preset?: string | null;
            /**
             * Rewards
             * @default []
             */
            rewards?: (number | null)[];
            /** Run */
            run: string;
            /** Run Id */
            run_id: string | null;
            /** Seconds */
            seconds?: number | null;
            /** Seed */
            seed?: number | null;
            /** Started */
            started: number | null;
            /** Status */
            status: string | null;
            /** Step Seconds */
            step_seconds?: number | null;
            unended?: components["schemas"]["Unended"] | null;
            /** Written */
            written: number | null;
        };
        /**
         * RunSnippet
         * @description A few tokens of a completion around one where the feature was strong.
         */
        RunSnippet: {
            /** Gate */
            gate: boolean | null;
            /** Generation Id */
            generation_id: string;
            /** Position */
            position: number;
            /** Step */
            step: number;
            /** Tokens */
            tokens: string[];
            /** Value */
            value: number;
            /** Values */
            values: (number | null)[];
        };
        /**
         * SAELogRecord
         * @description What one token looked like to one layer's dictionary. Exactly six keys.
         */
        SAELogRecord: {
            /** Layer Index */
            layer_index: number;
            /** Reconstruction Loss */
            reconstruction_loss: number | null;
            /** Step */
            step: number;
            /** Token Index */
            token_index: number;
            /** Top Feature Activations */
            top_feature_activations: (number | null)[];
            /** Top Feature Indices */
            top_feature_indices: number[];
        };
        /**
         * ScaledVector
         * @description The vector of one layer, and what it is multiplied with.
         */
        ScaledVector: {
            /**
             * Scale
             * @default 1
             */
            scale?: number;
            /** Vector */
            vector: number[];
        };
        /**
         * Scatter
         * @description Reconstruction loss against reward, one point a generation.
         */
        Scatter: {
            /** Correlations */
            correlations: components["schemas"]["Correlation"][];
            coverage: components["schemas"]["Coverage"];
            /** Generations */
            generations: number;
            /** Layer */
            layer: number | null;
            passed_minus_failed: components["schemas"]["GroupDifference"];
            points: components["schemas"]["ScatterPoints"];
            /** Points Total */
            points_total: number;
            /** Reason */
            reason: string | null;
            /** Rewards Zero */
            rewards_zero: number;
            /** Without Records */
            without_records: number;
            /** Without Reward */
            without_reward: number;
        };
        /**
         * ScatterPoints
         * @description One entry a generation in each list, oldest first.
         */
        ScatterPoints: {
            /** R */
            R: number[];
            /** Gate */
            gate: (boolean | null)[];
            /** Generation Id */
            generation_id: string[];
            /** Group Id */
            group_id: string[];
            /** Loss */
            loss: number[];
            /** Loss High */
            loss_high: number[];
            /** Loss Low */
            loss_low: number[];
            /** Step */
            step: number[];
        };
        /**
         * Series
         * @description One number over steps. Column c begins at the tile's `start + c · width`.
         */
        Series: {
            /** Count */
            count: number[];
            /** High */
            high: (number | null)[];
            /** Layer */
            layer: number | null;
            /** Low */
            low: (number | null)[];
            /** Mean */
            mean: (number | null)[];
            /** Name */
            name: string;
        };
        /**
         * ServerLimits
         * @description The largest request that is admitted.
         */
        ServerLimits: {
            /** Body Bytes */
            body_bytes: number;
            /** Cells */
            cells: number;
            /** Layers */
            layers: number;
            /** Positions */
            positions: number;
            /** Prompt Chars */
            prompt_chars: number;
        };
        /**
         * Share
         * @description A ratio of means over pairs, and its interval; null where there is none, and why.
         */
        Share: {
            /** High */
            high: number | null;
            /** Low */
            low: number | null;
            /** Mean */
            mean: number | null;
            /** Reason */
            reason?: string | null;
        };
        /**
         * Sibling
         * @description Another completion of the same prompt.
         */
        Sibling: {
            /** R */
            R: number | null;
            /** Gate */
            gate: boolean | null;
            /** Generation Id */
            generation_id: string;
        };
        /**
         * SidecarHealth
         * @description `sae_health.jsonl`: one line a spill. Counts are of the run so far, resumed or not.
         */
        SidecarHealth: {
            /**
             * Alarms
             * @default []
             */
            alarms?: string[];
            /**
             * Fragments
             * @default 0
             */
            fragments?: number;
            /**
             * Generations Dropped
             * @default 0
             */
            generations_dropped?: number;
            /** Layers */
            layers: components["schemas"]["LayerHealth"][];
            /**
             * Lines Lost
             * @default 0
             */
            lines_lost?: number;
            /** Records Dropped */
            records_dropped: number;
            /**
             * Records Lost
             * @default 0
             */
            records_lost?: number;
            /** Records Written */
            records_written: number;
            /** Run Id */
            run_id: string;
            /**
             * Schema
             * @default 1
             * @constant
             */
            schema?: 1;
            /** Sidecar Ms */
            sidecar_ms: number | null;
            /** Step */
            step: number;
            /** Time */
            time: number;
        };
        /**
         * Skipped
         * @description A position or a cell without a number, and why.
         */
        Skipped: {
            /** Hook */
            hook?: ("pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern") | null;
            /** Layer */
            layer?: number | null;
            /** Position */
            position: number;
            /** Reason */
            reason: string;
        };
        /**
         * Snippet
         * @description A piece of text on which a feature is strongly active.
         */
        Snippet: {
            /** Heat */
            heat: string;
            /**
             * Part
             * @default top
             * @enum {string}
             */
            part?: "top" | "middle" | "low";
            /** Tokens */
            tokens: string[];
            /** Value */
            value: number;
        };
        /**
         * SourceRun
         * @description What a stored run holds and how long it is safe.
         */
        SourceRun: {
            /** Age Seconds */
            age_seconds: number;
            /** Bytes */
            bytes: number;
            /** Generation */
            generation: number;
            /** Hooks */
            hooks: ("pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern")[];
            /** Layers */
            layers: number[];
            /** Lease Seconds */
            lease_seconds: number | null;
            /** N Tokens */
            n_tokens: number;
            /** Positions */
            positions: number[];
            /** Prompt */
            prompt: string;
            /** Run */
            run: string;
            /** Weights */
            weights: string;
        };
        /**
         * SourceRunDropped
         * @description A run is gone.
         */
        SourceRunDropped: {
            /** Dropped */
            dropped: boolean;
        };
        /**
         * SourceRunList
         * @description The stored runs, next to be evicted first.
         */
        SourceRunList: {
            /** Budget Bytes */
            budget_bytes: number;
            /** Runs */
            runs: components["schemas"]["SourceRun"][];
            /** Used Bytes */
            used_bytes: number;
        };
        /**
         * SourceRunUse
         * @description The store of source runs.
         */
        SourceRunUse: {
            /** Budget Bytes */
            budget_bytes: number;
            /** Runs */
            runs: number;
            /** Used Bytes */
            used_bytes: number;
        };
        /**
         * SpanPosition
         * @description The tokens that overlap a substring of the prompt.
         */
        SpanPosition: {
            /**
             * Occurrence
             * @default 0
             */
            occurrence?: number;
            /** Span */
            span: string;
        };
        /**
         * SpecialToken
         * @description A token that stands for no text.
         */
        SpecialToken: {
            /** Id */
            id: number;
            /** Text */
            text: string;
        };
        /**
         * SpecialTokens
         * @description What every prompt gets besides its text; a conversation gets what its template says.
         */
        SpecialTokens: {
            /** After */
            after: components["schemas"]["SpecialToken"][];
            /** Before */
            before: components["schemas"]["SpecialToken"][];
        };
        /**
         * Start
         * @description The axes are final: spans resolved, unaligned positions removed.
         */
        Start: {
            /** Auto Captured */
            auto_captured: boolean;
            /** Captured Source Run */
            captured_source_run: string | null;
            /** Cells */
            cells: number;
            /**
             * Corrupt
             * @default null
             */
            corrupt?: number | null;
            /**
             * Hook
             * @enum {string}
             */
            hook: "pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern";
            /**
             * Hooks
             * @default null
             */
            hooks?: ("pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern")[] | null;
            /**
             * Id
             * @default null
             */
            id?: string | null;
            /** Layers */
            layers: number[];
            /**
             * Metric
             * @enum {string}
             */
            metric: "logprob" | "logit_diff" | "recovered";
            /** Positions */
            positions: number[];
            tokens: components["schemas"]["PromptTokens"];
            /**
             * Type
             * @default start
             * @constant
             */
            type?: "start";
        };
        /**
         * StreamHealth
         * @description How listening to one run goes.
         */
        StreamHealth: {
            /** Bad Lines */
            bad_lines: number;
            /** Catching Up */
            catching_up: number;
            /** Directory */
            directory: string;
            /** First Bad Lines */
            first_bad_lines: components["schemas"]["BadLineReport"][];
            /** Lag Bytes */
            lag_bytes: number;
            /** Lines Sent */
            lines_sent: number;
            /** Listeners */
            listeners: number;
            /**
             * Notifications
             * @enum {string}
             */
            notifications: "inotify" | "stat" | "none";
            /** Records Per Second */
            records_per_second: number;
            /** Records Read */
            records_read: number;
            /** Run */
            run: string;
            /** Why Stat */
            why_stat: string | null;
        };
        /**
         * StreamOptions
         * @description How a stream is sent.
         */
        StreamOptions: {
            /** Include Obfuscation */
            include_obfuscation?: boolean | null;
            /**
             * Include Usage
             * @default false
             */
            include_usage?: boolean;
        };
        /**
         * Summary
         * @description The summary as the last event of a stream.
         */
        Summary: {
            alignment: components["schemas"]["Alignment"] | null;
            argmax: components["schemas"]["Extreme"] | null;
            argmin: components["schemas"]["Extreme"] | null;
            /** Auto Captured */
            auto_captured: boolean;
            /** Captured Source Run */
            captured_source_run: string | null;
            /** Clean */
            clean: number | null;
            /** Controls */
            controls: components["schemas"]["Control"][];
            /** Corrupt */
            corrupt: number | null;
            /** Grid */
            grid: (number | null)[][];
            /**
             * Hook
             * @enum {string}
             */
            hook: "pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern";
            /** Hook Grids */
            hook_grids: components["schemas"]["HookGrid"][] | null;
            /** Layers */
            layers: number[];
            /**
             * Metric
             * @enum {string}
             */
            metric: "logprob" | "logit_diff" | "recovered";
            /** Metric Grids */
            metric_grids: components["schemas"]["MetricGrid"][] | null;
            /** Noise Floor */
            noise_floor: number | null;
            /** Positions */
            positions: number[];
            /** Skipped */
            skipped: components["schemas"]["Skipped"][];
            timing: components["schemas"]["Timing"];
            tokens: components["schemas"]["PromptTokens"];
            /**
             * Type
             * @default summary
             * @constant
             */
            type?: "summary";
            /** Warnings */
            warnings: string[];
        };
        /**
         * SweepCancelled
         * @description What became of a request to stop a sweep.
         */
        SweepCancelled: {
            /** Cancelled */
            cancelled: boolean;
            /**
             * State
             * @enum {string}
             */
            state: "waiting" | "running" | "finished" | "failed" | "cancelled" | "interrupted";
        };
        /**
         * SweepEntry
         * @description One line of the history.
         */
        SweepEntry: {
            /** Cells */
            cells: number | null;
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /** Done */
            done: number;
            /** Ended */
            ended: string | null;
            /** Error */
            error: string | null;
            /** Id */
            id: string;
            /**
             * Kind
             * @default classic
             * @enum {string}
             */
            kind?: "classic" | "table";
            /**
             * Name
             * @default
             */
            name?: string;
            /**
             * Note
             * @default
             */
            note?: string;
            provenance: components["schemas"]["Provenance"];
            /**
             * Starred
             * @default false
             */
            starred?: boolean;
            /**
             * State
             * @enum {string}
             */
            state: "waiting" | "running" | "finished" | "failed" | "cancelled" | "interrupted";
        };
        /**
         * SweepHistory
         * @description Sweeps, newest first.
         */
        SweepHistory: {
            /** Next */
            next: string | null;
            /** Sweeps */
            sweeps: components["schemas"]["SweepEntry"][];
        };
        /**
         * SweepRecord
         * @description One sweep, whole.
         */
        SweepRecord: {
            /** Cells */
            cells: number | null;
            /**
             * Created
             * Format: date-time
             */
            created: string;
            /** Done */
            done: number;
            /** Ended */
            ended: string | null;
            /** Error */
            error: string | null;
            /** Id */
            id: string;
            /**
             * Kind
             * @default classic
             * @enum {string}
             */
            kind?: "classic" | "table";
            /**
             * Name
             * @default
             */
            name?: string;
            /**
             * Note
             * @default
             */
            note?: string;
            provenance: components["schemas"]["Provenance"];
            /**
             * Starred
             * @default false
             */
            starred?: boolean;
            /**
             * State
             * @enum {string}
             */
            state: "waiting" | "running" | "finished" | "failed" | "cancelled" | "interrupted";
            summary: components["schemas"]["SweepSummary"] | null;
            table?: components["schemas"]["SweepTable"] | null;
        };
        /**
         * SweepRequest
         * @description Run every row of a table of writes, and tell what came of each.
         */
        SweepRequest: {
            /**
             * Alpha
             * @default 1
             */
            alpha?: number;
            /** Answer */
            answer?: string | number | (string | number)[] | null;
            checkpoints?: components["schemas"]["CheckpointAxis"] | null;
            /** Circuits */
            circuits?: number[] | null;
            /** Clean */
            clean?: string | number[] | null;
            /** Corrupt */
            corrupt?: string | number[] | null;
            /**
             * Direction
             * @default denoise
             */
            direction?: ("denoise" | "noise") | "both";
            /**
             * Drop Wrong
             * @default true
             */
            drop_wrong?: boolean;
            features?: components["schemas"]["FeatureAxis"] | null;
            /** Foil */
            foil?: string | number | (string | number)[] | null;
            /** Frozen */
            frozen?: ("edge" | "path" | "path+mlps") | null;
            /**
             * Gradient
             * @default atp
             * @enum {string}
             */
            gradient?: "atp" | "eap-ig";
            /** Heads */
            heads?: (number | number[])[] | ("all" | "together") | null;
            /** Hooks */
            hooks?: string[] | null;
            /**
             * Kv
             * @default group
             * @enum {string}
             */
            kv?: "group" | "reader";
            /** Layers */
            layers?: number[] | components["schemas"]["LayerRange"] | string | null;
            /**
             * Mean Over
             * @default position
             * @enum {string}
             */
            mean_over?: "position" | "tokens";
            /**
             * Method
             * @default exact
             * @enum {string}
             */
            method?: "exact" | "attribution" | "adaptive";
            /** Metric */
            metric?: ("logprob" | "logit_diff" | "recovered" | "prob" | "kl_clean" | "kl_corrupt" | "rank" | "top1" | "reward") | null;
            /** Metrics */
            metrics?: ("logprob" | "logit_diff" | "recovered" | "prob" | "kl_clean" | "kl_corrupt" | "rank" | "top1" | "reward")[] | null;
            /** Model */
            model?: string | null;
            /**
             * One Token
             * @default false
             */
            one_token?: boolean;
            /**
             * Pairing
             * @default strict
             * @enum {string}
             */
            pairing?: "strict" | "first" | "last" | "proportional" | "mean";
            /** Pairs */
            pairs?: components["schemas"]["PromptPair"][] | null;
            /** Positions */
            positions?: ("each" | "together" | "roles") | (number | components["schemas"]["SpanPosition"] | string)[] | null;
            /** Receivers */
            receivers?: string[] | null;
            /** Reference */
            reference?: (string | number[])[] | null;
            /** Resume */
            resume?: string | null;
            reward?: components["schemas"]["RewardTest"] | null;
            /**
             * Sample
             * @default 200
             */
            sample?: number;
            /**
             * Seed
             * @default 0
             */
            seed?: number;
            /** Senders */
            senders?: string[] | null;
            /**
             * Source
             * @default clean
             * @enum {string}
             */
            source?: "clean" | "zero" | "mean" | "resample";
            /** Source Run */
            source_run?: string | null;
            /**
             * Steps
             * @default 5
             */
            steps?: number;
            /**
             * Stream
             * @default false
             */
            stream?: boolean;
            /** Verify */
            verify?: number | null;
        };
        /**
         * SweepSummary
         * @description Everything a finished sweep found. Absent values are null; no key is ever left out.
         */
        SweepSummary: {
            alignment: components["schemas"]["Alignment"] | null;
            argmax: components["schemas"]["Extreme"] | null;
            argmin: components["schemas"]["Extreme"] | null;
            /** Auto Captured */
            auto_captured: boolean;
            /** Captured Source Run */
            captured_source_run: string | null;
            /** Clean */
            clean: number | null;
            /** Controls */
            controls: components["schemas"]["Control"][];
            /** Corrupt */
            corrupt: number | null;
            /** Grid */
            grid: (number | null)[][];
            /**
             * Hook
             * @enum {string}
             */
            hook: "pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern";
            /** Hook Grids */
            hook_grids: components["schemas"]["HookGrid"][] | null;
            /** Layers */
            layers: number[];
            /**
             * Metric
             * @enum {string}
             */
            metric: "logprob" | "logit_diff" | "recovered";
            /** Metric Grids */
            metric_grids: components["schemas"]["MetricGrid"][] | null;
            /** Noise Floor */
            noise_floor: number | null;
            /** Positions */
            positions: number[];
            /** Skipped */
            skipped: components["schemas"]["Skipped"][];
            timing: components["schemas"]["Timing"];
            tokens: components["schemas"]["PromptTokens"];
            /** Warnings */
            warnings: string[];
        };
        /**
         * SweepTable
         * @description Everything a finished sweep found.
         *
         *     Over many pairs, baselines are means and the noise floor is the largest; `tokens` and
         *     `alignment` are each pair's own. Over many checkpoints baselines are those of the newest, the
         *     noise floor is the largest, and each has its own in `checkpoints`.
         */
        SweepTable: {
            alignment: components["schemas"]["Alignment"] | null;
            /** Checkpoints */
            checkpoints?: components["schemas"]["CheckpointRecord"][] | null;
            /** Circuits */
            circuits?: components["schemas"]["CircuitCurve"][] | null;
            /** Clean */
            clean: {
                [key: string]: number | null;
            } | null;
            /** Controls */
            controls: components["schemas"]["Control"][];
            /** Corrupt */
            corrupt: {
                [key: string]: number | null;
            };
            /** Dropped */
            dropped?: components["schemas"]["DroppedPair"][] | null;
            /**
             * Metric
             * @enum {string}
             */
            metric: "logprob" | "logit_diff" | "recovered" | "prob" | "kl_clean" | "kl_corrupt" | "rank" | "top1" | "reward";
            /** Noise Floor */
            noise_floor: {
                [key: string]: number | null;
            };
            /** Notes */
            notes: {
                [key: string]: string;
            };
            /** Pairs */
            pairs?: components["schemas"]["PairRecord"][] | null;
            /**
             * Recovered Of
             * @enum {string}
             */
            recovered_of: "logit_diff" | "logprob";
            reward?: components["schemas"]["RewardFound"] | null;
            /** Skipped */
            skipped: components["schemas"]["Skipped"][];
            /** Tables */
            tables: components["schemas"]["Table"][];
            timing: components["schemas"]["Timing"];
            tokens: components["schemas"]["PromptTokens"];
            verification?: components["schemas"]["Verification"] | null;
            /** Warnings */
            warnings: string[];
        };
        /**
         * Table
         * @description Numbers over some axes, row by row: the last axis varies fastest.
         */
        Table: {
            /** Activations */
            activations?: number[] | null;
            /** Axes */
            axes: components["schemas"]["Axis"][];
            /**
             * Hook
             * @enum {string}
             */
            hook: "pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern";
            /**
             * Kind
             * @default cells
             * @enum {string}
             */
            kind?: "cells" | "random_direction" | "alike" | "baseline";
            /** Said */
            said?: (string | null)[] | null;
            /** Values */
            values: {
                [key: string]: (number | null)[];
            };
        };
        /**
         * TableCell
         * @description One finished cell.
         */
        TableCell: {
            /** At */
            at: number[];
            /**
             * Error
             * @default null
             */
            error?: string | null;
            /**
             * Said
             * @default null
             */
            said?: string | null;
            /** Table */
            table: number;
            /**
             * Type
             * @default cell
             * @constant
             */
            type?: "cell";
            /** Values */
            values: {
                [key: string]: number | null;
            };
        };
        /**
         * TableDropped
         * @description A pair that turned out to be unfit.
         */
        TableDropped: {
            /** Done */
            done: number;
            dropped: components["schemas"]["DroppedPair"];
            /**
             * Type
             * @default dropped
             * @constant
             */
            type?: "dropped";
        };
        /**
         * TablePair
         * @description One finished pair of a sweep over many: all of its cells.
         */
        TablePair: {
            /** Done */
            done: number;
            /** Means */
            means: (number | null)[][];
            record: components["schemas"]["PairRecord"];
            /**
             * Type
             * @default pair
             * @constant
             */
            type?: "pair";
            /** Values */
            values: {
                [key: string]: (number | null)[];
            }[];
        };
        /**
         * TableReward
         * @description Another feature, or another random direction of all of them, has its completions.
         */
        TableReward: {
            found: components["schemas"]["RewardFound"];
            /**
             * Type
             * @default reward
             * @constant
             */
            type?: "reward";
        };
        /**
         * TableSampling
         * @description Completions are being sampled: how far that is.
         */
        TableSampling: {
            /** Done */
            done: number;
            /** Label */
            label: string;
            /** Of */
            of: number;
            /**
             * Type
             * @default sampling
             * @constant
             */
            type?: "sampling";
        };
        /**
         * TableStart
         * @description The axes are final; the tables are still empty.
         */
        TableStart: {
            /** Cells */
            cells: number;
            /** Clean */
            clean: {
                [key: string]: number | null;
            } | null;
            /** Corrupt */
            corrupt: {
                [key: string]: number | null;
            };
            /**
             * Dropped
             * @default null
             */
            dropped?: components["schemas"]["DroppedPair"][] | null;
            /**
             * Id
             * @default null
             */
            id?: string | null;
            /**
             * Metric
             * @enum {string}
             */
            metric: "logprob" | "logit_diff" | "recovered" | "prob" | "kl_clean" | "kl_corrupt" | "rank" | "top1" | "reward";
            /** Tables */
            tables: components["schemas"]["Table"][];
            tokens: components["schemas"]["PromptTokens"];
            /**
             * Type
             * @default start
             * @constant
             */
            type?: "start";
        };
        /**
         * TableSummary
         * @description The same as the last event of a stream.
         */
        TableSummary: {
            alignment: components["schemas"]["Alignment"] | null;
            /**
             * Checkpoints
             * @default null
             */
            checkpoints?: components["schemas"]["CheckpointRecord"][] | null;
            /**
             * Circuits
             * @default null
             */
            circuits?: components["schemas"]["CircuitCurve"][] | null;
            /** Clean */
            clean: {
                [key: string]: number | null;
            } | null;
            /** Controls */
            controls: components["schemas"]["Control"][];
            /** Corrupt */
            corrupt: {
                [key: string]: number | null;
            };
            /**
             * Dropped
             * @default null
             */
            dropped?: components["schemas"]["DroppedPair"][] | null;
            /**
             * Metric
             * @enum {string}
             */
            metric: "logprob" | "logit_diff" | "recovered" | "prob" | "kl_clean" | "kl_corrupt" | "rank" | "top1" | "reward";
            /** Noise Floor */
            noise_floor: {
                [key: string]: number | null;
            };
            /** Notes */
            notes: {
                [key: string]: string;
            };
            /**
             * Pairs
             * @default null
             */
            pairs?: components["schemas"]["PairRecord"][] | null;
            /**
             * Recovered Of
             * @enum {string}
             */
            recovered_of: "logit_diff" | "logprob";
            /** @default null */
            reward?: components["schemas"]["RewardFound"] | null;
            /** Skipped */
            skipped: components["schemas"]["Skipped"][];
            /** Tables */
            tables: components["schemas"]["Table"][];
            timing: components["schemas"]["Timing"];
            tokens: components["schemas"]["PromptTokens"];
            /**
             * Type
             * @default summary
             * @constant
             */
            type?: "summary";
            /** @default null */
            verification?: components["schemas"]["Verification"] | null;
            /** Warnings */
            warnings: string[];
        };
        /**
         * TableVerifying
         * @description Some more of the cells that are run to verify first-order scores.
         */
        TableVerifying: {
            /** Done */
            done: number;
            /**
             * Type
             * @default verifying
             * @constant
             */
            type?: "verifying";
        };
        /**
         * TaskEntry
         * @description One behaviour.
         */
        TaskEntry: {
            /** Name */
            name: string;
            /** Pairs */
            pairs: number;
            /** What */
            what: string;
        };
        /**
         * TaskList
         * @description The tasks there are.
         */
        TaskList: {
            /** Tasks */
            tasks: components["schemas"]["TaskEntry"][];
        };
        /**
         * TaskPairs
         * @description Some pairs of a task: those of the same number and seed everywhere.
         */
        TaskPairs: {
            /** Pairs */
            pairs: components["schemas"]["PromptPair"][];
        };
        /**
         * Text
         * @description The text of some tokens; special ones have none.
         */
        Text: {
            /** Prompt */
            prompt: string;
        };
        /**
         * TextPart
         * @description A piece of a message.
         */
        TextPart: {
            /** Text */
            text: string;
            /**
             * Type
             * @constant
             */
            type: "text";
        };
        /**
         * Tile
         * @description A heatmap of one stretch of time. Column c begins at `start + c · width`.
         *
         *     Widths are powers of two and starts are multiples of them, so that columns stay what they are
         *     while a run grows. Extremes are kept: a spike of one token shows in `high` at every width.
         */
        Tile: {
            /**
             * Axis
             * @enum {string}
             */
            axis: "layer" | "feature";
            /** Columns */
            columns: number;
            /** Count */
            count: number[][];
            coverage: components["schemas"]["Coverage"];
            /** High */
            high: (number | null)[][];
            /** Layer */
            layer: number | null;
            /** Level */
            level: number;
            /** Low */
            low: (number | null)[][];
            /** Mean */
            mean: (number | null)[][];
            /**
             * Measure
             * @enum {string}
             */
            measure: "loss" | "activation" | "active";
            /** Reason */
            reason: string | null;
            /** Records */
            records: number[][];
            /** Rows */
            rows: number[];
            /** Start */
            start: number;
            /** Step */
            step: number | null;
            /**
             * Unit
             * @enum {string}
             */
            unit: "step" | "token";
            /** Width */
            width: number;
        };
        /**
         * Timing
         * @description Where the seconds went.
         */
        Timing: {
            /** Baseline Seconds */
            baseline_seconds: number;
            /** Capture Seconds */
            capture_seconds: number;
            /** Cells */
            cells: number;
            /** Cells Per Second */
            cells_per_second: number;
            /** Cells Seconds */
            cells_seconds: number;
            /** Computed Cells */
            computed_cells: number;
            /** Total Seconds */
            total_seconds: number;
        };
        /**
         * TokenFeatures
         * @description One recorded token.
         */
        TokenFeatures: {
            /** Layers */
            layers: components["schemas"]["LayerFeatures"][];
            /** Position */
            position: number;
            /** Token Index */
            token_index: number;
        };
        /**
         * TokenGain
         * @description A token of completions, wherever it was said.
         */
        TokenGain: {
            /** Count */
            count: number;
            /** Gain */
            gain: number;
            /** Mean */
            mean: number;
            /** Token */
            token: string;
        };
        /**
         * TokenLogprob
         * @description A token and its log-probability; written as in `Logprobs`.
         */
        TokenLogprob: {
            /** Bytes */
            bytes: number[] | null;
            /** Logprob */
            logprob: number;
            /** Token */
            token: string;
        };
        /**
         * TokenShare
         * @description A token, and on what share of a feature's activity it stands there.
         */
        TokenShare: {
            /** Share */
            share: number;
            /** Token */
            token: string;
        };
        /**
         * TokenStretch
         * @description Recorded tokens of a step.
         */
        TokenStretch: {
            coverage: components["schemas"]["Coverage"];
            /** End */
            end: number;
            /** More */
            more: boolean;
            /** Start */
            start: number;
            /** Step */
            step: number;
            /** Tokens */
            tokens: components["schemas"]["TokenFeatures"][];
        };
        /**
         * TokenizeRequest
         * @description A text or a conversation, as the model is given it.
         */
        TokenizeRequest: {
            /**
             * Add Generation Prompt
             * @default true
             */
            add_generation_prompt?: boolean;
            /** Add Special Tokens */
            add_special_tokens?: boolean | null;
            /**
             * Continue Final Message
             * @default false
             */
            continue_final_message?: boolean;
            /** Messages */
            messages?: components["schemas"]["Message"][] | null;
            /** Model */
            model?: string | null;
            /** Prompt */
            prompt?: string | null;
            /**
             * Return Token Strs
             * @default false
             */
            return_token_strs?: boolean | null;
        };
        /**
         * Tokens
         * @description The token ids of a text.
         */
        Tokens: {
            /** Count */
            count: number;
            /** Max Model Len */
            max_model_len: number;
            /** Token Strs */
            token_strs?: string[] | null;
            /** Tokens */
            tokens: number[];
        };
        /**
         * Unended
         * @description A run that says it is running, and has no trainer any more: it was killed.
         */
        Unended: {
            /** Command */
            command: boolean;
            /** Resume */
            resume: string;
            /** Since */
            since: number | null;
            /** Step */
            step: number | null;
            /** Why */
            why: string;
        };
        /**
         * UnregisterVectors
         * @description Forget the vectors of a name. Work that has begun with them ends with them.
         */
        UnregisterVectors: {
            /** Model */
            model?: string | null;
            /** Name */
            name: string;
        };
        /**
         * Usage
         * @description Tokens, counted.
         */
        Usage: {
            /** Completion Tokens */
            completion_tokens: number;
            /** Prompt Tokens */
            prompt_tokens: number;
            /** Total Tokens */
            total_tokens: number;
        };
        /**
         * VectorList
         * @description All named vectors, by name.
         */
        VectorList: {
            /** Budget Bytes */
            budget_bytes: number;
            /** Modules */
            modules: components["schemas"]["RegisteredVectors"][];
            /** Used Bytes */
            used_bytes: number;
        };
        /**
         * VectorSite
         * @description Where a named vector can be written.
         */
        VectorSite: {
            /**
             * Hook
             * @enum {string}
             */
            hook: "pre_attn" | "post_attn" | "post_block" | "mlp_in" | "mlp_out" | "attn_out" | "z" | "q" | "k" | "v" | "pattern";
            /** Layer */
            layer: number;
        };
        /**
         * VectorsUnregistered
         * @description A name is free again.
         */
        VectorsUnregistered: {
            /** Unregistered */
            unregistered: boolean;
        };
        /**
         * Verification
         * @description First-order scores beside exact ones, for the strongest cells and for a random sample.
         *
         *     Distances are without their sign, except in correlations and signs themselves.
         */
        Verification: {
            /** At */
            at: components["schemas"]["AtK"][];
            /** Cells */
            cells: number;
            /** Compared */
            compared?: components["schemas"]["VerifiedCell"][];
            /**
             * Gradient
             * @enum {string}
             */
            gradient: "atp" | "eap-ig";
            largest_error: components["schemas"]["VerifiedCell"] | null;
            largest_miss: components["schemas"]["VerifiedCell"] | null;
            /** Sampled */
            sampled: number;
            /** Seed */
            seed: number;
            /** Sign Agreement */
            sign_agreement: number | null;
            /** Spearman */
            spearman: number | null;
            /** Spearman In Sample */
            spearman_in_sample: number | null;
            /** Steps */
            steps: number;
            /** Verified */
            verified: number;
        };
        /**
         * VerifiedCell
         * @description One cell that was scored both ways: how far it is from the baseline, in the metric's units.
         *
         *     Over many pairs both are means, of `recovered` the ratio of means.
         */
        VerifiedCell: {
            /** At */
            at: number[];
            /** Attributed */
            attributed: number;
            /** Exact */
            exact: number;
            /** Sampled */
            sampled: boolean;
            /** Table */
            table: number;
        };
        /**
         * Vocabulary
         * @description Features of at least m of the last n passed generations, and whether failed ones lack them.
         *
         *     A generation has a feature if it is among the strongest of at least `min_tokens` of its recorded
         *     completion tokens. Shares and p are over the window: all generations with a gate, from the step
         *     of the oldest of those n on; without an n, all of the run. Features that exactly the same
         *     generations have are one pattern of use, tested once. p is exact: the distribution over all ways
         *     to deal each group's gates among its generations. The family is every pattern that m generations
         *     of the window have, passed or not, and that some such dealing would give a p of `rate` or less;
         *     no dealing changes which these are.
         */
        Vocabulary: {
            coverage: components["schemas"]["Coverage"];
            /** Everywhere */
            everywhere: components["schemas"]["VocabularyFeature"][];
            /** Everywhere Total */
            everywhere_total: number;
            /** Exact */
            exact: boolean;
            /** Failed */
            failed: number;
            /** Family */
            family: number;
            /** Features */
            features: components["schemas"]["VocabularyFeature"][];
            /** First Step */
            first_step: number | null;
            /** Groups */
            groups: number;
            /** Last Step */
            last_step: number | null;
            /** Layer */
            layer: number | null;
            /** Least Q */
            least_q: number | null;
            /** M */
            m: number;
            /** Min Tokens */
            min_tokens: number;
            /** Mixed Groups */
            mixed_groups: number;
            /** N */
            n: number;
            /** Passed */
            passed: number;
            /** Rate */
            rate: number;
            /** Reason */
            reason: string | null;
            /** Reason P */
            reason_p: string | null;
            /** Significant */
            significant: number;
            /** Total */
            total: number;
            /** Whole */
            whole: boolean;
        };
        /**
         * VocabularyFeature
         * @description A feature that generations which pass the gate keep using.
         */
        VocabularyFeature: {
            /** Activation */
            activation: number | null;
            /** Failed With */
            failed_with: number;
            /** Feature */
            feature: number;
            /** Layer */
            layer: number;
            /** Lift */
            lift: number | null;
            /** P */
            p: number | null;
            /** Passed With */
            passed_with: number;
            /** Q */
            q: number | null;
            /** Same */
            same: components["schemas"]["FeatureName"][];
            /** Sustained */
            sustained: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    run_changed: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                /** @description First step. */
                from?: number | null;
                /** @description Last step. */
                to?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedAnswer"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    feature_tile: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                /** @description Without it, the first. */
                layer?: number | null;
                /** @description These, in this order: `7,1042`. */
                features?: string | null;
                by?: "sum" | "count" | "high";
                top?: number;
                skip?: number;
                /** @description Without it, steps; tokens where there is one step only. */
                unit?: ("step" | "token") | null;
                /** @description Whose tokens to count. */
                step?: number | null;
                /** @description First step, or token. */
                from?: number | null;
                /** @description The one after the last. */
                to?: number | null;
                /** @description At most so many columns. */
                columns?: number;
                /** @description Columns of 2 to the power of this; without it, what fits. */
                level?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tile"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    one_generation: {
        parameters: {
            query: {
                id: string;
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                /** @description Tokens. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GenerationView"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    list_generations: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                /** @description First step. */
                from?: number | null;
                /** @description Last step. */
                to?: number | null;
                /** @description Only those that did, or did not. */
                passed?: boolean | null;
                /** @description 0 leaves prompts and completions out. */
                text?: boolean;
                /** @description `next`. */
                before?: number | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GenerationPage"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    health_curves: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                /** @description First step. */
                from?: number | null;
                /** @description Last step. */
                to?: number | null;
                /** @description At most so many columns. */
                columns?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Curves"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    layer_tile: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                measure?: "loss" | "activation" | "active";
                /** @description Without it, steps; tokens where there is one step only. */
                unit?: ("step" | "token") | null;
                /** @description Whose tokens to count. */
                step?: number | null;
                /** @description First step, or token. */
                from?: number | null;
                /** @description The one after the last. */
                to?: number | null;
                /** @description At most so many columns. */
                columns?: number;
                /** @description Columns of 2 to the power of this; without it, what fits. */
                level?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tile"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    run_overview: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    reward_curves: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                /** @description First step. */
                from?: number | null;
                /** @description Last step. */
                to?: number | null;
                /** @description At most so many columns. */
                columns?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Curves"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    loss_and_reward: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                /** @description Without it, the first. */
                layer?: number | null;
                /** @description First step. */
                from?: number | null;
                /** @description Last step. */
                to?: number | null;
                /** @description The newest so many. */
                points?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Scatter"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    telemetry_curves: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                /** @description First step. */
                from?: number | null;
                /** @description Last step. */
                to?: number | null;
                /** @description At most so many columns. */
                columns?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Curves"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    token_stretch: {
        parameters: {
            query: {
                from: number;
                to: number;
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                step?: number;
                /** @description Tokens. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenStretch"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    vocabulary: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                /** @description Without it, all layers. */
                layer?: number | null;
                /** @description Passed generations; without it, all of the run. */
                n?: number | null;
                /** @description Of them, at least; else three quarters, or a tenth of a whole run. */
                m?: number | null;
                min_tokens?: number;
                /** @description Of false discoveries. */
                rate?: number;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Vocabulary"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    feature_in_run: {
        parameters: {
            query: {
                layer: number;
                feature: number;
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FeatureInRun"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    stream_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GatewayHealth"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    moment_to_test: {
        parameters: {
            query: {
                /** @description Whose features. */
                layer: number;
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                /** @description Without it, one that has the feature, or the best. */
                generation?: string | null;
                /** @description A recorded token of it, -1 for the prompt's last. Without it, where the feature is strongest. */
                token?: number | null;
                feature?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MomentToTest"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    list_notes: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NoteList"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    keep_note: {
        parameters: {
            query: {
                layer: number;
                feature: number;
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NoteToKeep"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NoteList"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    run_page: {
        parameters: {
            query?: {
                /** @description Which; without it, the newest. */
                run?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    list_checkpoints: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointList"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    read_records: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                /** @description Only records of these layers: `0,15`. */
                layers?: string | null;
                /** @description `start` for the whole run, `live` for what comes next, or the id of an event; without it, what is being written, from its beginning. */
                from?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Records, one a line. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    stream_records: {
        parameters: {
            query?: {
                /** @description Which run, as GET /api/runs lists them. */
                run?: string | null;
                /** @description Only records of these layers: `0,15`. */
                layers?: string | null;
                /** @description `start` for the whole run, `live` for what comes next, or the id of an event; without it, what is being written, from its beginning. */
                from?: string | null;
                /** @description 0 ends at the end of what is there. */
                follow?: boolean;
                /** @description `generation,metrics,health`: their lines too. */
                include?: string | null;
                /** @description Up to so many records an event. */
                batch?: number;
            };
            header?: {
                "last-event-id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Records as they are written. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    list_runs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunList"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    describe_features: {
        parameters: {
            query: {
                /** @description Numbers with commas between, at most 256: `12,4071`. */
                features: string;
                /** @description Whose dictionary. Without it, the one that Sonde ships for the layer. */
                run?: string | null;
            };
            header?: never;
            path: {
                layer: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FeatureCards"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    detokenize: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DetokenizeRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Text"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body took too long to arrive. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body, or the work, is larger than may be. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body is compressed, in whichever way. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description As much work is waiting as may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Samples. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    ready: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
        };
    };
    tokenize: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenizeRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tokens"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body took too long to arrive. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body, or the work, is larger than may be. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body is compressed, in whichever way. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description As much work is waiting as may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    attention: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AttentionRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttentionTable"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body took too long to arrive. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body, or the work, is larger than may be. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body is compressed, in whichever way. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description As much work is waiting as may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    capabilities: {
        parameters: {
            query?: {
                /** @description Which model's; without it, the first one's. */
                model?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Capabilities"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    create_chat_completion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatCompletion"];
                    "text/event-stream": unknown;
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body took too long to arrive. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body, or the work, is larger than may be. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body is compressed, in whichever way. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description As much work is waiting as may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description A patch was not applied, so there is no answer. */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    create_completion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompletionRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Completion"];
                    "text/event-stream": unknown;
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body took too long to arrive. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body, or the work, is larger than may be. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body is compressed, in whichever way. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description As much work is waiting as may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description A patch was not applied, so there is no answer. */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    forget_sweep: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sweep_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepEntry"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    remark_sweep: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sweep_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Remarks"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepEntry"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    list_models: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    get_model: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                model_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelEntry"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    list_source_runs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceRunList"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
        };
    };
    get_source_run: {
        parameters: {
            query?: {
                /** @description Which model's; without it, the first one's. */
                model?: string | null;
            };
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceRun"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
        };
    };
    drop_source_run: {
        parameters: {
            query?: {
                /** @description Which model's; without it, the first one's. */
                model?: string | null;
            };
            header?: never;
            path: {
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceRunDropped"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
        };
    };
    sweep_history: {
        parameters: {
            query?: {
                before?: string | null;
                limit?: number;
                starred?: boolean;
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepHistory"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
        };
    };
    patch_sweep: {
        parameters: {
            query?: never;
            header?: {
                prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PatchSweepRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepSummary"];
                    "text/event-stream": unknown;
                };
            };
            /** @description It runs; nobody waits for it. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepEntry"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The body took too long to arrive. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The body, or the work, is larger than may be. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body is compressed, in whichever way. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description As much work is waiting as may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
        };
    };
    estimate_sweep: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PatchSweepRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Estimate"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The body took too long to arrive. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The body, or the work, is larger than may be. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body is compressed, in whichever way. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description As much work is waiting as may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
        };
    };
    get_sweep: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sweep_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepRecord"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
        };
    };
    cancel_sweep: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sweep_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepCancelled"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
        };
    };
    sweep_events: {
        parameters: {
            query?: never;
            header?: {
                "last-event-id"?: string | null;
            };
            path: {
                sweep_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events as they come. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            /** @description There are no more. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
        };
    };
    export_sweep: {
        parameters: {
            query?: {
                format?: "json" | "csv" | "parquet" | "png" | "svg" | "html";
            };
            header?: never;
            path: {
                sweep_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "application/vnd.apache.parquet": unknown;
                    "image/png": unknown;
                    "image/svg+xml": unknown;
                    "text/csv": unknown;
                    "text/html": unknown;
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"] | components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlainError"];
                };
            };
        };
    };
    list_modules: {
        parameters: {
            query?: {
                /** @description Which model's; without it, the first one's. */
                model?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VectorList"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    list_vectors: {
        parameters: {
            query?: {
                /** @description Which model's; without it, the first one's. */
                model?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VectorList"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    register_vectors: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterVectors"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegisteredVectors"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body took too long to arrive. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body, or the work, is larger than may be. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body is compressed, in whichever way. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description As much work is waiting as may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    unregister_vectors: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UnregisterVectors"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VectorsUnregistered"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body took too long to arrive. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body, or the work, is larger than may be. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body is compressed, in whichever way. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description As much work is waiting as may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    table_history: {
        parameters: {
            query?: {
                before?: string | null;
                limit?: number;
                starred?: boolean;
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepHistory"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description A patch was not applied, so there is no answer. */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    run_sweep: {
        parameters: {
            query?: never;
            header?: {
                prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SweepRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepTable"];
                    "text/event-stream": unknown;
                };
            };
            /** @description It runs; nobody waits for it. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepEntry"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body took too long to arrive. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body, or the work, is larger than may be. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body is compressed, in whichever way. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description As much work is waiting as may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description A patch was not applied, so there is no answer. */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    estimate_table: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SweepRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Estimate"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body took too long to arrive. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body, or the work, is larger than may be. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The body is compressed, in whichever way. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description As much work is waiting as may; `Retry-After` says when to try again. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    get_table: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sweep_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepRecord"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    cancel_table: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sweep_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SweepCancelled"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    table_events: {
        parameters: {
            query?: never;
            header?: {
                "last-event-id"?: string | null;
            };
            path: {
                sweep_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events as they come. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            /** @description There are no more. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    export_table: {
        parameters: {
            query?: {
                format?: "json" | "csv" | "parquet" | "png" | "svg" | "html";
            };
            header?: never;
            path: {
                sweep_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "application/vnd.apache.parquet": unknown;
                    "image/png": unknown;
                    "image/svg+xml": unknown;
                    "text/csv": unknown;
                    "text/html": unknown;
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description It cannot be done in the state things are in. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The server is stopping. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    tasks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskList"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
    task_pairs: {
        parameters: {
            query?: {
                n?: number;
                seed?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskPairs"];
                };
            };
            /** @description Something in the request makes no sense; the message says what. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description The request names another host, comes from a foreign page, or asks a reader to write. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description There is no such thing. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
            /** @description Something failed on the server's side. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAIError"];
                };
            };
        };
    };
}
