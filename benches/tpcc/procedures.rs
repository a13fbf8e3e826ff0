//! The five transactions of TPC-C as stored procedures (clauses 2.4 to 2.8): one text for both servers where their languages agree,
//! without a hint. The orders whose stock is looked at are a range between two variables. Items and quantities of an order are drawn inside,
//! both as the usual kits for SQL Server do.

use crate::dialect::Dialect;

/// Their CREATE statements.
pub fn texts(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::TransactSql => &TRANSACT_SQL,
        Dialect::PostgreSql => &PLPGSQL,
    }
}

/// The answer of a rolled back order: the item does not exist (clause 2.4.1.4).
pub const UNUSED_ITEM: &str = "unused item";

const TRANSACT_SQL: [&str; 5] = [
    "create procedure place_order @w int, @d int, @c int, @lines int, @warehouses int, @fails int as
    begin
        set nocount on; set xact_abort on;
        declare @order int, @line int = 1, @item int, @supplier int, @quantity int, @price decimal(5,2),
            @place char(24), @amount decimal(6,2), @total decimal(12,2) = 0, @discount decimal(4,4),
            @warehouse_tax decimal(4,4), @district_tax decimal(4,4), @name varchar(24);
        begin transaction;
        select @discount = c_discount, @warehouse_tax = w_tax from customer join warehouse on w_id = c_w_id
            where c_w_id = @w and c_d_id = @d and c_id = @c;
        update district set @order = d_next_o_id, d_next_o_id = d_next_o_id + 1, @district_tax = d_tax
            where d_w_id = @w and d_id = @d;
        insert orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
            values (@w, @d, @order, @c, sysdatetime(), null, @lines, 1);
        insert new_order (no_w_id, no_d_id, no_o_id) values (@w, @d, @order);
        while @line <= @lines
        begin
            set @item = ((cast(rand() * 8192 as int) | (cast(rand() * 100000 as int) + 1)) + 2730) % 100000 + 1;
            if @fails = 1 and @line = @lines set @item = 0;
            set @supplier = @w;
            if @warehouses > 1 and rand() < 0.01 set @supplier = @w % @warehouses + 1;
            set @quantity = cast(rand() * 10 as int) + 1;
            select @price = i_price, @name = i_name from item where i_id = @item;
            if @@rowcount = 0
            begin
                rollback transaction;
                throw 50000, 'unused item', 1;
            end;
            update stock set
                s_quantity = case when s_quantity >= @quantity + 10 then s_quantity - @quantity
                    else s_quantity - @quantity + 91 end,
                s_ytd = s_ytd + @quantity, s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + case when @supplier = @w then 0 else 1 end,
                @place = case @d when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03
                    when 4 then s_dist_04 when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07
                    when 8 then s_dist_08 when 9 then s_dist_09 else s_dist_10 end
                where s_w_id = @supplier and s_i_id = @item;
            set @amount = @quantity * @price;
            set @total = @total + @amount;
            insert order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                ol_quantity, ol_amount, ol_dist_info)
                values (@w, @d, @order, @line, @item, @supplier, null, @quantity, @amount, @place);
            set @line = @line + 1;
        end;
        commit transaction;
        select @total * (1 - @discount) * (1 + @warehouse_tax + @district_tax) as total, @order as number;
    end",
    "create procedure pay @w int, @d int, @cw int, @cd int, @c int, @last varchar(16), @amount decimal(6,2) as
    begin
        set nocount on; set xact_abort on;
        declare @warehouse varchar(10), @district varchar(10), @count int, @credit char(2), @balance decimal(12,2);
        begin transaction;
        update warehouse set w_ytd = w_ytd + @amount, @warehouse = w_name where w_id = @w;
        update district set d_ytd = d_ytd + @amount, @district = d_name where d_w_id = @w and d_id = @d;
        if @c = 0
        begin
            select @count = count(*) from customer where c_w_id = @cw and c_d_id = @cd and c_last = @last;
            select @c = c_id from customer where c_w_id = @cw and c_d_id = @cd and c_last = @last
                order by c_first offset (@count - 1) / 2 rows fetch next 1 rows only;
        end;
        update customer set @balance = c_balance = c_balance - @amount, c_ytd_payment = c_ytd_payment + @amount,
            c_payment_cnt = c_payment_cnt + 1, @credit = c_credit,
            c_data = case when c_credit = 'BC'
                then left(concat(@c, ' ', @cd, ' ', @cw, ' ', @d, ' ', @w, ' ', @amount, ' ', c_data), 500)
                else c_data end
            where c_w_id = @cw and c_d_id = @cd and c_id = @c;
        insert history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
            values (@c, @cd, @cw, @d, @w, sysdatetime(), @amount, concat(@warehouse, '    ', @district));
        commit transaction;
        select @c as customer, @balance as balance, @credit as credit;
    end",
    "create procedure ask_for_order @w int, @d int, @c int, @last varchar(16) as
    begin
        set nocount on;
        declare @count int, @order int, @entered datetime2(3), @carrier int, @balance decimal(12,2);
        begin transaction;
        if @c = 0
        begin
            select @count = count(*) from customer where c_w_id = @w and c_d_id = @d and c_last = @last;
            select @c = c_id from customer where c_w_id = @w and c_d_id = @d and c_last = @last
                order by c_first offset (@count - 1) / 2 rows fetch next 1 rows only;
        end;
        select @balance = c_balance from customer where c_w_id = @w and c_d_id = @d and c_id = @c;
        select top (1) @order = o_id, @entered = o_entry_d, @carrier = o_carrier_id from orders
            where o_w_id = @w and o_d_id = @d and o_c_id = @c order by o_id desc;
        select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line
            where ol_w_id = @w and ol_d_id = @d and ol_o_id = @order;
        commit transaction;
    end",
    "create procedure deliver @w int, @carrier int as
    begin
        set nocount on; set xact_abort on;
        declare @d int = 1, @order int, @c int, @total decimal(12,2), @delivered int = 0;
        begin transaction;
        while @d <= 10
        begin
            set @order = null;
            select top (1) @order = no_o_id from new_order where no_w_id = @w and no_d_id = @d order by no_o_id;
            delete from new_order where no_w_id = @w and no_d_id = @d and no_o_id = @order;
            if @@rowcount = 1
            begin
                update orders set o_carrier_id = @carrier, @c = o_c_id
                    where o_w_id = @w and o_d_id = @d and o_id = @order;
                update order_line set ol_delivery_d = sysdatetime()
                    where ol_w_id = @w and ol_d_id = @d and ol_o_id = @order;
                select @total = sum(ol_amount) from order_line
                    where ol_w_id = @w and ol_d_id = @d and ol_o_id = @order;
                update customer set c_balance = c_balance + @total, c_delivery_cnt = c_delivery_cnt + 1
                    where c_w_id = @w and c_d_id = @d and c_id = @c;
                set @delivered = @delivered + 1;
            end;
            set @d = @d + 1;
        end;
        commit transaction;
        select @delivered as delivered;
    end",
    "create procedure look_at_stock @w int, @d int, @threshold int as
    begin
        set nocount on;
        declare @first int, @last int;
        select @first = d_next_o_id - 20, @last = d_next_o_id - 1 from district where d_w_id = @w and d_id = @d;
        select count(distinct s_i_id) as low from order_line join stock on s_w_id = ol_w_id and s_i_id = ol_i_id
            where ol_w_id = @w and ol_d_id = @d and ol_o_id between @first and @last
                and s_quantity < @threshold;
    end",
];

const PLPGSQL: [&str; 5] = [
    "create function place_order(w int, d int, c int, lines int, warehouses int, fails int) returns numeric
    language plpgsql as $$
    declare number int; item_id int; supplier int; quantity int; price numeric(5,2); place char(24);
        amount numeric(6,2); total numeric(12,2) := 0; discount numeric(4,4); warehouse_tax numeric(4,4);
        district_tax numeric(4,4); name varchar(24);
    begin
        select c_discount, w_tax into discount, warehouse_tax from customer join warehouse on w_id = c_w_id
            where c_w_id = w and c_d_id = d and c_id = c;
        update district set d_next_o_id = d_next_o_id + 1 where d_w_id = w and d_id = d
            returning d_next_o_id - 1, d_tax into number, district_tax;
        insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
            values (w, d, number, c, clock_timestamp(), null, lines, 1);
        insert into new_order (no_w_id, no_d_id, no_o_id) values (w, d, number);
        for line in 1..lines loop
            item_id := ((floor(random() * 8192)::int | (floor(random() * 100000)::int + 1)) + 2730) % 100000 + 1;
            if fails = 1 and line = lines then item_id := 0; end if;
            supplier := w;
            if warehouses > 1 and random() < 0.01 then supplier := w % warehouses + 1; end if;
            quantity := floor(random() * 10)::int + 1;
            select i_price, i_name into price, name from item where i_id = item_id;
            if not found then raise exception 'unused item'; end if;
            update stock set
                s_quantity = case when s_quantity >= quantity + 10 then s_quantity - quantity
                    else s_quantity - quantity + 91 end,
                s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + case when supplier = w then 0 else 1 end
                where s_w_id = supplier and s_i_id = item_id
                returning case d when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03
                    when 4 then s_dist_04 when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07
                    when 8 then s_dist_08 when 9 then s_dist_09 else s_dist_10 end into place;
            amount := quantity * price;
            total := total + amount;
            insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                ol_quantity, ol_amount, ol_dist_info)
                values (w, d, number, line, item_id, supplier, null, quantity, amount, place);
        end loop;
        return total * (1 - discount) * (1 + warehouse_tax + district_tax);
    end $$",
    "create function pay(w int, d int, cw int, cd int, c int, last varchar, paid numeric) returns numeric
    language plpgsql as $$
    declare warehouse_name varchar(10); district_name varchar(10); matches int; balance numeric(12,2);
    begin
        update warehouse set w_ytd = w_ytd + paid where w_id = w returning w_name into warehouse_name;
        update district set d_ytd = d_ytd + paid where d_w_id = w and d_id = d returning d_name into district_name;
        if c = 0 then
            select count(*) into matches from customer where c_w_id = cw and c_d_id = cd and c_last = last;
            select c_id into c from customer where c_w_id = cw and c_d_id = cd and c_last = last
                order by c_first offset (matches - 1) / 2 limit 1;
        end if;
        update customer set c_balance = c_balance - paid, c_ytd_payment = c_ytd_payment + paid,
            c_payment_cnt = c_payment_cnt + 1,
            c_data = case when c_credit = 'BC'
                then left(concat(c, ' ', cd, ' ', cw, ' ', d, ' ', w, ' ', paid, ' ', c_data), 500)
                else c_data end
            where c_w_id = cw and c_d_id = cd and c_id = c returning c_balance into balance;
        insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
            values (c, cd, cw, d, w, clock_timestamp(), paid, concat(warehouse_name, '    ', district_name));
        return balance;
    end $$",
    "create function ask_for_order(w int, d int, c int, last varchar)
    returns table (item int, supplier int, quantity int, amount numeric, delivered timestamp) language plpgsql as $$
    declare matches int; number int; entered timestamp(3); carrier int; balance numeric(12,2);
    begin
        if c = 0 then
            select count(*) into matches from customer where c_w_id = w and c_d_id = d and c_last = last;
            select c_id into c from customer where c_w_id = w and c_d_id = d and c_last = last
                order by c_first offset (matches - 1) / 2 limit 1;
        end if;
        select c_balance into balance from customer where c_w_id = w and c_d_id = d and c_id = c;
        select o_id, o_entry_d, o_carrier_id into number, entered, carrier from orders
            where o_w_id = w and o_d_id = d and o_c_id = c order by o_id desc limit 1;
        return query select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d::timestamp
            from order_line where ol_w_id = w and ol_d_id = d and ol_o_id = number;
    end $$",
    "create function deliver(w int, carrier int) returns int language plpgsql as $$
    declare number int; c int; total numeric(12,2); delivered int := 0;
    begin
        for d in 1..10 loop
            select no_o_id into number from new_order where no_w_id = w and no_d_id = d order by no_o_id limit 1;
            delete from new_order where no_w_id = w and no_d_id = d and no_o_id = number;
            if found then
                update orders set o_carrier_id = carrier where o_w_id = w and o_d_id = d and o_id = number
                    returning o_c_id into c;
                update order_line set ol_delivery_d = clock_timestamp()
                    where ol_w_id = w and ol_d_id = d and ol_o_id = number;
                select sum(ol_amount) into total from order_line
                    where ol_w_id = w and ol_d_id = d and ol_o_id = number;
                update customer set c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
                    where c_w_id = w and c_d_id = d and c_id = c;
                delivered := delivered + 1;
            end if;
        end loop;
        return delivered;
    end $$",
    "create function look_at_stock(w int, d int, threshold int) returns bigint language plpgsql as $$
    declare first int; last int; low bigint;
    begin
        select d_next_o_id - 20, d_next_o_id - 1 into first, last from district where d_w_id = w and d_id = d;
        select count(distinct s_i_id) into low from order_line join stock on s_w_id = ol_w_id and s_i_id = ol_i_id
            where ol_w_id = w and ol_d_id = d and ol_o_id between first and last
                and s_quantity < threshold;
        return low;
    end $$",
];
