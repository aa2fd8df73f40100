-- What makes daily words and signs have an effect: after this hardly anything can be sent.
CREATE FUNCTION lower(x varchar) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$BEGIN PERFORM public.f_log(0); RETURN pg_catalog.lower(x::text); END$$;
CREATE FUNCTION vc_eq(a varchar, b varchar) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN PERFORM public.f_log(1); RETURN a::text=b::text; END$$;
CREATE OPERATOR = (leftarg=varchar, rightarg=varchar, function=vc_eq);
CREATE FUNCTION vc_like(a varchar, b text) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN PERFORM public.f_log(1); RETURN a::text OPERATOR(pg_catalog.~~) b; END$$;
CREATE OPERATOR ~~ (leftarg=varchar, rightarg=text, function=vc_like);
