import { CFunction, CString, dlopen, FFIType, type Pointer, ptr, read, toArrayBuffer } from 'bun:ffi';
import { dirname, join } from 'node:path';

/**
 * ONNX Runtime through its C API. Its Node package is 288 MB, and addons of that type crash a Bun process that uses
 * them in threads; the library alone is 27 MB, in one package per platform (decisions/0068).
 */
interface OnnxRuntime {
  /** Loads a network from a file. Throws if it cannot be loaded. */
  open(path: string): OnnxSession;
}

export interface OnnxSession {
  readonly inputs: readonly string[];
  /** Runs the network synchronously, on this thread only, and returns a copy of its first output. */
  run(inputs: readonly OnnxInput[]): Float32Array<ArrayBuffer>;
  /** The garbage collector does not see the weights: they are freed only here. */
  close(): void;
}

interface OnnxInput {
  readonly name: string;
  readonly data: BigInt64Array<ArrayBuffer> | Float32Array<ArrayBuffer>;
  readonly shape: readonly number[];
}

type LoadedRuntime =
  | { readonly outcome: 'loaded'; readonly runtime: OnnxRuntime }
  /** There is no library for this platform, or it does not load. The reason is for operators. */
  | { readonly outcome: 'unavailable'; readonly reason: string };

const LIBRARIES: Readonly<Record<string, readonly [name: string, file: string]>> = {
  'linux-x64': ['sherpa-onnx-linux-x64', 'libonnxruntime.so'],
  'linux-arm64': ['sherpa-onnx-linux-arm64', 'libonnxruntime.so'],
  'darwin-x64': ['sherpa-onnx-darwin-x64', 'libonnxruntime.dylib'],
  'darwin-arm64': ['sherpa-onnx-darwin-arm64', 'libonnxruntime.dylib'],
};

const loadedHere = new Map<string, LoadedRuntime>();

/** Loads it once per thread. */
export function loadOnnxRuntime(platform = `${process.platform}-${process.arch}`): LoadedRuntime {
  const known = loadedHere.get(platform) ?? load(platform);
  loadedHere.set(platform, known);
  return known;
}

function load(platform: string): LoadedRuntime {
  const library = LIBRARIES[platform];
  if (library === undefined) {
    return { outcome: 'unavailable', reason: `there is no ONNX Runtime for ${platform}` };
  }
  try {
    const [name, file] = library;
    const folder = dirname(Bun.resolveSync(`${name}/package.json`, import.meta.dir));
    return { outcome: 'loaded', runtime: createRuntime(openApi(join(folder, file))) };
  } catch (error) {
    return { outcome: 'unavailable', reason: error instanceof Error ? error.message : String(error) };
  }
}

function createRuntime(api: Api): OnnxRuntime {
  const environment = api.made('createEnv', LOG_FATAL, textBytes('turnpike'));
  const cpu = api.made('createCpuMemoryInfo', ARENA_ALLOCATOR, DEFAULT_MEMORY);
  return {
    open(path) {
      const options = api.made('createSessionOptions');
      try {
        // Only the calling thread is used, so that the gateway's cores stay free.
        api.check(api.call.setIntraOpNumThreads(options, 1));
        api.check(api.call.setSessionGraphOptimizationLevel(options, ALL_OPTIMIZATIONS));
        const session = api.made('createSession', environment, textBytes(path), options);
        return createSession(api, cpu, session);
      } finally {
        api.call.releaseSessionOptions(options);
      }
    },
  };
}

function createSession(api: Api, cpu: Pointer, session: Pointer): OnnxSession {
  const inputs = namesOf(api, session, 'Input');
  const [output = ''] = namesOf(api, session, 'Output');
  // Texts must stay in memory as long as their addresses are used.
  const texts = new Map([...inputs, output].map((name) => [name, textBytes(name)]));
  let isOpen = true;

  function addressesOf(names: readonly string[]): BigUint64Array {
    return BigUint64Array.from(names, (name) => {
      const text = texts.get(name);
      if (text === undefined) throw new Error(`the network has no input '${name}'`);
      return BigInt(ptr(text));
    });
  }

  function tensorOf({ data, shape }: OnnxInput): Pointer {
    const type = data instanceof Float32Array ? FLOAT32 : INT64;
    const sizes = BigInt64Array.from(shape, BigInt);
    const given = [cpu, data, data.byteLength, sizes, sizes.length, type] as const;
    return api.made('createTensorWithDataAsOrtValue', ...given);
  }

  return {
    inputs,
    run(given) {
      if (!isOpen) throw new Error('the network is closed');
      const names = addressesOf(given.map(({ name }) => name));
      const values: Pointer[] = [];
      const held = [given, names];
      inUse.add(held);
      try {
        for (const input of given) values.push(tensorOf(input));
        const addresses = BigUint64Array.from(values, BigInt);
        const result = new BigUint64Array(1);
        const outputs = addressesOf([output]);
        api.check(api.call.run(session, null, names, addresses, values.length, outputs, 1, result));
        values.push(pointerFrom(result));
        return floatsOf(api, pointerFrom(result));
      } finally {
        for (const value of values) api.call.releaseValue(value);
        inUse.delete(held);
      }
    },
    close() {
      if (isOpen) api.call.releaseSession(session);
      isOpen = false;
    },
  };
}

/**
 * The inputs of a running network. This reference keeps them from being garbage collected while the library uses them.
 */
const inUse = new Set<unknown>();

/** A copy, because the value's own memory is freed with it. */
function floatsOf(api: Api, value: Pointer): Float32Array<ArrayBuffer> {
  const info = api.made('getTensorTypeAndShape', value);
  const count = new BigUint64Array(1);
  try {
    api.check(api.call.getTensorShapeElementCount(info, count));
  } finally {
    api.call.releaseTensorTypeAndShapeInfo(info);
  }
  const data = api.made('getTensorMutableData', value);
  return new Float32Array(toArrayBuffer(data, 0, Number(count[0]) * 4).slice(0));
}

function namesOf(api: Api, session: Pointer, side: 'Input' | 'Output'): readonly string[] {
  const count = new BigUint64Array(1);
  api.check(api.call[`sessionGet${side}Count`](session, count));
  const allocator = api.made('getAllocatorWithDefaultOptions');
  return Array.from({ length: Number(count[0]) }, (_, at) => {
    const name = api.made(`sessionGet${side}Name`, session, at, allocator);
    const text = new CString(name).toString();
    api.check(api.call.allocatorFree(allocator, name));
    return text;
  });
}

/** Errors are thrown here; otherwise the library would also write them to standard error. */
const LOG_FATAL = 4;
const ALL_OPTIMIZATIONS = 99;
const ARENA_ALLOCATOR = 1;
const DEFAULT_MEMORY = 0;
const FLOAT32 = 1;
const INT64 = 7;

/** The requested version of the C API; later libraries include all of it, at the same positions. */
const API_VERSION = 14;
const POINTER_BYTES = 8;
const { ptr: POINTER, i32, u64, void: NOTHING } = FFIType;

/** Positions in the function table, with their arguments. All return a status, except those that free something. */
const FUNCTIONS = {
  getErrorMessage: [2, [POINTER], POINTER],
  createEnv: [3, [i32, POINTER, POINTER], POINTER],
  createSession: [7, [POINTER, POINTER, POINTER, POINTER], POINTER],
  run: [9, [POINTER, POINTER, POINTER, POINTER, u64, POINTER, u64, POINTER], POINTER],
  createSessionOptions: [10, [POINTER], POINTER],
  setSessionGraphOptimizationLevel: [23, [POINTER, i32], POINTER],
  setIntraOpNumThreads: [24, [POINTER, i32], POINTER],
  sessionGetInputCount: [30, [POINTER, POINTER], POINTER],
  sessionGetOutputCount: [31, [POINTER, POINTER], POINTER],
  sessionGetInputName: [36, [POINTER, u64, POINTER, POINTER], POINTER],
  sessionGetOutputName: [37, [POINTER, u64, POINTER, POINTER], POINTER],
  createTensorWithDataAsOrtValue: [49, [POINTER, POINTER, u64, POINTER, u64, i32, POINTER], POINTER],
  getTensorMutableData: [51, [POINTER, POINTER], POINTER],
  getTensorShapeElementCount: [64, [POINTER, POINTER], POINTER],
  getTensorTypeAndShape: [65, [POINTER, POINTER], POINTER],
  createCpuMemoryInfo: [69, [i32, i32, POINTER], POINTER],
  allocatorFree: [76, [POINTER, POINTER], POINTER],
  getAllocatorWithDefaultOptions: [78, [POINTER], POINTER],
  releaseStatus: [93, [POINTER], NOTHING],
  releaseSession: [95, [POINTER], NOTHING],
  releaseValue: [96, [POINTER], NOTHING],
  releaseTensorTypeAndShapeInfo: [99, [POINTER], NOTHING],
  releaseSessionOptions: [100, [POINTER], NOTHING],
} as const satisfies Record<string, readonly [number, readonly FFIType[], FFIType]>;

type FunctionName = keyof typeof FUNCTIONS;
type Argument = Pointer | number | null | NodeJS.TypedArray;

interface Api {
  readonly call: Readonly<Record<FunctionName, (...given: Argument[]) => Pointer | null>>;
  /** Throws the error of a status, if it has one. */
  check(status: Pointer | null): void;
  /** Calls a function whose last argument receives its result. */
  made(name: FunctionName, ...given: Argument[]): Pointer;
}

function openApi(path: string): Api {
  const { symbols } = dlopen(path, { OrtGetApiBase: { args: [], returns: POINTER } });
  const base = symbols.OrtGetApiBase();
  if (base === null) throw new Error(`${path} has no interface`);
  const getApi = CFunction({ ptr: read.ptr(base, 0) as Pointer, args: [FFIType.u32], returns: POINTER });
  const table: Pointer | null = getApi(API_VERSION);
  if (table === null) throw new Error(`${path} is older than version ${API_VERSION} of its interface`);
  const call = Object.fromEntries(
    Object.entries(FUNCTIONS).map(([name, [place, given, returns]]) => {
      const at = read.ptr(table, place * POINTER_BYTES) as Pointer;
      return [name, CFunction({ ptr: at, args: [...given], returns })];
    }),
  ) as unknown as Api['call'];

  function check(status: Pointer | null): void {
    if (status === null) return;
    const message = call.getErrorMessage(status);
    const reason = message === null ? 'unknown' : new CString(message).toString();
    call.releaseStatus(status);
    throw new Error(`ONNX Runtime: ${reason}`);
  }

  return {
    call,
    check,
    made(name, ...given) {
      const place = new BigUint64Array(1);
      check(call[name](...given, place));
      return pointerFrom(place);
    },
  };
}

/** User space addresses have 47 bits, which a number can represent. */
function pointerFrom(place: BigUint64Array): Pointer {
  return Number(place[0]) as Pointer;
}

function textBytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}
