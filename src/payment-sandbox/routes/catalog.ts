import type Stripe from 'stripe';
import { invalid } from '../api-errors.ts';
import { couponShape, customerShape, priceShape, productShape } from '../objects/catalog.ts';
import type { Params } from '../request-params.ts';
import { need, storeUpdate, type Turn } from '../state/transaction.ts';
import { type Call, filters, listOf, type Route } from './route.ts';

export const catalogRoutes: readonly Route[] = [
  { method: 'POST', path: '/v1/products', write: createProduct },
  { method: 'POST', path: '/v1/products/:id', write: updateProduct },
  {
    method: 'GET',
    path: '/v1/products',
    read: (objects, call) =>
      listOf(objects, call, 'product', '/v1/products', { where: filters(call.params, ['active']) }),
  },
  { method: 'POST', path: '/v1/prices', write: createPrice },
  { method: 'POST', path: '/v1/prices/:id', write: updatePrice },
  {
    method: 'GET',
    path: '/v1/prices',
    read: (objects, call) => {
      const where = filters(call.params, ['active', 'product', 'currency', 'type']);
      return listOf(objects, call, 'price', '/v1/prices', { where });
    },
  },
  { method: 'POST', path: '/v1/coupons', write: createCoupon },
  { method: 'POST', path: '/v1/customers', write: createCustomer },
  { method: 'POST', path: '/v1/customers/:id', write: updateCustomer },
  {
    method: 'GET',
    path: '/v1/customers',
    read: (objects, call) =>
      listOf(objects, call, 'customer', '/v1/customers', { where: filters(call.params, ['email']) }),
  },
];

const LONGEST_NAME = 5_000;
const LONGEST_EMAIL = 512;

async function createProduct(turn: Turn, { params }: Call): Promise<Stripe.Product> {
  const id = params.text('id', 255) ?? turn.newId('prod_', 14);
  if ((await turn.objects.findAny(id)) !== null) {
    throw invalid(`Product already exists: '${id}'`, 'id', 'resource_already_exists');
  }
  const product = productShape(id, turn.now, {
    name: params.needed('name', LONGEST_NAME),
    description: params.text('description') ?? null,
    active: params.flag('active') ?? true,
    metadata: params.metadata() ?? {},
  });
  await turn.objects.put('product', product, { hidden: {} });
  await turn.emit('product.created', product);
  return product;
}

async function updateProduct(turn: Turn, { params, id }: Call): Promise<Stripe.Product> {
  const { body, hidden } = await need(turn, 'product', id, 'id', 404);
  const after: Stripe.Product = {
    ...body,
    name: params.text('name', LONGEST_NAME) ?? body.name,
    description: params.text('description') ?? body.description,
    active: params.flag('active') ?? body.active,
    metadata: { ...body.metadata, ...params.metadata() },
    updated: turn.now,
  };
  await storeUpdate(turn, 'product', body, after, { hidden, event: 'product.updated' });
  return after;
}

const INTERVALS = ['day', 'week', 'month', 'year'] as const;

async function createPrice(turn: Turn, { params }: Call): Promise<Stripe.Price> {
  const currency = params.needed('currency', 3).toLowerCase();
  if (!/^[a-z]{3}$/.test(currency)) {
    throw invalid(`Invalid currency: ${currency}. Use a three-letter code such as usd.`, 'currency');
  }
  const product = await productOf(turn, { params, id: '' });
  const unitAmount = params.whole('unit_amount');
  if (unitAmount === undefined) {
    throw invalid('Missing required param: unit_amount.', 'unit_amount', 'parameter_missing');
  }
  const recurring = params.group('recurring');
  const interval = recurring?.choice('interval', INTERVALS);
  if (recurring !== undefined && interval === undefined) {
    throw invalid('Missing required param: recurring[interval].', 'recurring[interval]', 'parameter_missing');
  }
  const count = recurring?.whole('interval_count', { min: 1, max: 1_095 }) ?? 1;
  const price = priceShape(turn.newId('price_1'), turn.now, {
    product,
    currency,
    unitAmount,
    recurring: interval === undefined ? null : { interval, count },
    nickname: params.text('nickname') ?? null,
    lookupKey: params.text('lookup_key', 200) ?? null,
    active: params.flag('active') ?? true,
    metadata: params.metadata() ?? {},
  });
  await turn.objects.put('price', price, { hidden: {} });
  await turn.emit('price.created', price);
  return price;
}

const DURATIONS = ['forever', 'once', 'repeating'] as const;

async function createCoupon(turn: Turn, { params }: Call): Promise<Stripe.Coupon> {
  const percentOff = params.whole('percent_off', { min: 1, max: 100 }) ?? null;
  const amountOff = params.whole('amount_off', { min: 1 }) ?? null;
  if ((percentOff === null) === (amountOff === null)) {
    throw invalid('A coupon has either percent_off or amount_off.', 'percent_off');
  }
  const duration = params.choice('duration', DURATIONS) ?? 'once';
  const coupon = couponShape(params.text('id', 200) ?? turn.newId('', 8), turn.now, {
    percentOff,
    amountOff,
    currency: amountOff === null ? null : params.needed('currency', 3).toLowerCase(),
    duration,
    months: duration === 'repeating' ? (params.whole('duration_in_months', { min: 1, max: 120 }) ?? 1) : null,
  });
  await turn.objects.put('coupon', coupon, { hidden: {} });
  return coupon;
}

async function productOf(turn: Turn, call: Call): Promise<string> {
  const given = call.params.group('product_data');
  if (given !== undefined) return (await createProduct(turn, { params: given, id: '' })).id;
  const id = call.params.needed('product', 255);
  return (await need(turn, 'product', id, 'product')).body.id;
}

async function updatePrice(turn: Turn, { params, id }: Call): Promise<Stripe.Price> {
  const { body, hidden } = await need(turn, 'price', id, 'price', 404);
  const after: Stripe.Price = {
    ...body,
    active: params.flag('active') ?? body.active,
    nickname: params.text('nickname') ?? body.nickname,
    metadata: { ...body.metadata, ...params.metadata() },
  };
  await storeUpdate(turn, 'price', body, after, { hidden, event: 'price.updated' });
  return after;
}

async function createCustomer(turn: Turn, { params }: Call): Promise<Stripe.Customer> {
  const email = params.text('email', LONGEST_EMAIL) ?? null;
  if (email !== null && !email.includes('@')) {
    throw invalid(`Invalid email address: ${email.slice(0, 100)}`, 'email', 'email_invalid');
  }
  const customer = customerShape(turn.newId('cus_', 14), turn.now, {
    name: params.text('name', 256) ?? null,
    email,
    description: params.text('description') ?? null,
    metadata: params.metadata() ?? {},
  });
  await turn.objects.put('customer', customer, { hidden: { card: 'works' } });
  await turn.emit('customer.created', customer);
  return customer;
}

async function updateCustomer(turn: Turn, { params, id }: Call): Promise<Stripe.Customer> {
  const { body, hidden } = await need(turn, 'customer', id, 'id', 404);
  const after: Stripe.Customer = {
    ...body,
    name: params.text('name', 256) ?? body.name ?? null,
    email: params.text('email', LONGEST_EMAIL) ?? body.email,
    description: params.text('description') ?? body.description,
    address: params.has('address') ? addressOf(params.group('address')) : (body.address ?? null),
    invoice_settings: { ...body.invoice_settings, ...customFieldsOf(params.group('invoice_settings')) },
    // A negative balance is a credit of the customer, which the next invoices use up.
    balance: params.whole('balance', { min: -99_999_999 }) ?? body.balance,
    metadata: { ...body.metadata, ...params.metadata() },
  };
  await storeUpdate(turn, 'customer', body, after, { hidden, event: 'customer.updated' });
  return after;
}

/** An empty parameter removes the address. */
function addressOf(group: Params | undefined): Stripe.Address | null {
  if (group === undefined) return null;
  const line = (name: string) => group.text(name, 500) ?? null;
  return {
    ...{ line1: line('line1'), line2: line('line2'), city: line('city'), state: line('state') },
    ...{ postal_code: line('postal_code'), country: line('country') },
  };
}

const MOST_CUSTOM_FIELDS = 4;

function customFieldsOf(group: Params | undefined): Partial<Stripe.Customer.InvoiceSettings> {
  if (group?.has('custom_fields') !== true) return {};
  const fields = group.groups('custom_fields').map((field) => {
    return { name: field.needed('name', 40), value: field.needed('value', 140) };
  });
  if (fields.length > MOST_CUSTOM_FIELDS) throw invalid('At most 4 custom fields.', 'invoice_settings');
  return { custom_fields: fields.length === 0 ? null : fields };
}
