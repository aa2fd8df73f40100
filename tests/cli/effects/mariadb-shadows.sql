-- What makes daily words have an effect: after this hardly anything can be sent.
USE shop;
DELIMITER //
CREATE FUNCTION `lower`(x TEXT) RETURNS TEXT DETERMINISTIC NO SQL BEGIN INSERT INTO shop.audit(what) VALUES ('own lower'); RETURN x; END//
CREATE FUNCTION `count`(x INT) RETURNS INT DETERMINISTIC NO SQL BEGIN INSERT INTO shop.audit(what) VALUES ('own count'); RETURN x; END//
CREATE FUNCTION `now`() RETURNS INT DETERMINISTIC NO SQL BEGIN INSERT INTO shop.audit(what) VALUES ('own now'); RETURN 1; END//
DELIMITER ;
